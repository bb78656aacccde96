"""The server behind the page: what it answers, whom it answers, and that no request makes it fail."""

import json
import socket

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.page.conftest import exported, serving
from tests.page.test_exploration import explored
from tests.problems import draw

import manifuse as mf
from manifuse.page import requests
from manifuse.page.guard import Guard
from manifuse.page.requests import LARGEST
from manifuse.page.server import STATIC, Page

#: With another port, as when the connection is forwarded.
LOOPBACK = "localhost:8765"

PLAIN = {"ignored": [], "same_target": None}


@pytest.mark.parametrize("address", STATIC)
def test_every_file_of_the_page_is_served_with_its_type_and_its_policy(client, address):
    answer = client.get(address)
    assert answer.status == 200
    kind = {"/": "text/html", ".css": "text/css", ".js": "text/javascript"}[address[address.rfind(".") :][-4:]]
    assert answer.headers["content-type"].startswith(kind)
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    # The page names no other site; the only address in it is the name of SVG.
    assert "://" not in answer.text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    "address",
    [
        "/../pyproject.toml",
        "/%2e%2e/server.py",
        "/static/page.js",
        "//etc/passwd",
        "/page.js%00",
        "/server.py",
        "/index.html",
        "/api/jobs/../../page.js",
        "/api",
        "/" + "a" * 5000,
    ],
)
def test_nothing_else_is_served(client, address):
    assert client.get(address).status == 404


def test_the_page_opens_with_what_refine_gives(client):
    assert len(client.get("/api/problem").json()["ids"]) == 160
    seen = client.get("/api/jobs/1/result").json()
    assert seen["sentence"].endswith(refined().why)
    np.testing.assert_allclose(seen["metric"][0][2:], refined().evidence.metric[1, 2:])


def test_what_is_asked_for_is_refined_explained_and_exported(client):
    asked = client.post("/api/jobs", {"ignored": ["reference 2"], "same_target": True})
    assert asked.status == 202
    name = asked.json()["job"]
    assert client.wait(name)["state"] == "done"
    assert client.get("/api/jobs/latest").json()["job"] == name
    seen = client.get(f"/api/jobs/{name}/result").json()
    assert (seen["ignored"], seen["same_target"]) == (["reference 2"], True)
    expected = refined(ignored=("reference 2",), same_target=True)
    np.testing.assert_allclose(seen["metric"][0][2:], expected.evidence.metric[1, 2:])
    sentences = client.get(f"/api/jobs/{name}/rows/7").json()["sentences"]
    assert sentences[0] == mf.explain(expected, "m7", draw(1).references).sentences[0]
    answer = client.get(f"/api/jobs/{name}/export")
    assert answer.text == "('reference 2',)"
    assert answer.headers["content-disposition"] == 'attachment; filename="run.toml"'
    assert answer.headers["x-manifuse-command"] == "manifuse refine --config run.toml"
    # What was there at first is still there.
    assert client.post("/api/jobs", PLAIN).json()["job"] == "1"


def test_rows_that_are_not_there_are_not_explained(client):
    assert client.get("/api/jobs/1/rows/160").status == 404
    assert client.get("/api/jobs/1/rows/-1").status == 404
    for row in ("x", "1.5", "1_0", "+1", "%201", "%D9%A1", "9" * 5000):
        answer = client.get(f"/api/jobs/1/rows/{row}")
        assert (answer.status, answer.json()["error"].endswith("but a whole number was expected.")) == (400, True)
    assert client.get("/api/jobs/77/rows/1").status == 404


def test_a_job_can_be_cancelled_and_the_page_goes_on():
    # Several candidates make a run that takes a while.
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(neighbours=tuple(range(2, 40))))
    with serving(Page(explored(draw(0), method=method), exported)) as client:
        assert client.get("/api/jobs/1/result").status == 409
        assert client.get("/api/jobs/1/rows/1").status == 409
        # A new request takes the place of the one that runs.
        name = client.post("/api/jobs", {"ignored": ["reference 1"], "same_target": None}).json()["job"]
        assert client.get("/api/jobs/1").json()["state"] == "cancelled"
        assert client.ask("DELETE", f"/api/jobs/{name}").json()["state"] == "cancelled"
        assert client.get("/api/jobs/latest").json() == client.get(f"/api/jobs/{name}").json()
        again = client.post("/api/jobs", {"ignored": ["reference 1", "reference 2"], "same_target": None}).json()
        assert client.wait(again["job"])["state"] == "done"
        # There is nothing to compare with.
        assert "Compared" not in client.get(f"/api/jobs/{again['job']}/result").json()["sentence"]


def refined(**changes):
    case = draw(1)
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(neighbours=6), **changes)
    return mf.refine(case.main, case.references, case.labels(), method, rng=3)


@pytest.mark.parametrize(
    "change, says",
    [
        ({"ignored": ["nobody"]}, "a list of names of references"),
        ({"ignored": [["nobody"]]}, "a list of names of references"),
        ({"ignored": "reference 2"}, "ignored = 'reference 2' came, but a list of names of references was expected."),
        ({"ignored": None}, "a list of names of references"),
        ({"same_target": 1}, "same_target = 1 came, but true, false or null was expected."),
        ({"same_target": "true"}, "true, false or null"),
        ({"more": 1}, "exactly these fields: ignored, same_target"),
    ],
)
def test_a_request_out_of_range_is_refused_in_a_sentence(client, change, says):
    answer = client.post("/api/jobs", {**PLAIN, **change})
    assert answer.status == 400
    assert says in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff\xfe", b"NaN", b'{"ignored": NaN}', b"[" * 50000, b"9" * 5000, b'"\\ud800"']
)
def test_a_body_that_is_not_a_json_object_is_refused(client, body):
    answer = client.ask("POST", "/api/jobs", body)
    assert answer.status == 400
    assert "one JSON object" in answer.json()["error"]


def test_other_methods_and_jobs_are_refused(client):
    assert client.post("/api/problem", {}).status == 405
    assert client.ask("PUT", "/").status == 405
    assert client.get("/api/jobs").status == 405
    assert client.get("/api/jobs/" + "9" * 5000).status == 404
    assert client.ask("DELETE", "/api/jobs/none").status == 404
    assert client.ask("POST", "/api/jobs", b" " * (LARGEST + 1)).status == 413


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:80"}, 421),
        ({"host": "127.0.0.1@evil.example"}, 421),
        ({"host": ""}, 421),
        ({"host": "192.168.0.7"}, 421),
        ({"host": LOOPBACK.upper(), "origin": f"http://{LOOPBACK}"}, 200),
        ({"host": "[::1]:8765", "origin": "http://[::1]:8765"}, 200),
        ({"sec-fetch-site": "cross-site", "origin": None}, 403),
        ({"sec-fetch-site": "same-site", "origin": None}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
    ],
)
def test_other_hosts_and_origins_are_refused(client, headers, status):
    for address in ("/", "/api/problem", "/api/jobs/latest"):
        assert client.get(address, **headers).status == status
    # What was computed is there at once, with the status of what is begun.
    assert client.post("/api/jobs", PLAIN, **headers).status == (202 if status == 200 else status)


def test_a_request_that_changes_something_must_have_an_origin(client):
    assert client.post("/api/jobs", PLAIN, origin=None).status == 403
    assert client.get("/api/problem", origin=None).status == 200


def test_any_address_is_accepted_only_where_the_server_listens_everywhere():
    guard = Guard(None, names=["Shelf.local"], any_address=True)
    hosts = {
        "192.168.0.7:8765": True,
        "[fe80::1]": True,
        "shelf.local": True,
        "evil.example": False,
        "[::": False,
    }
    assert {host: guard._is_ours(host) for host in hosts} == hosts


words = st.text(st.characters(codec="utf-8"), max_size=8)
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)),
    max_leaves=8,
)
bodies = st.fixed_dictionaries({name: st.one_of(st.just(value), trees) for name, value in PLAIN.items()})
sendings = st.tuples(
    st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH", "BREW"]),
    st.one_of(
        st.sampled_from(["/api/jobs", "/api/jobs/1/export", "/api/jobs/1/rows/7", "/api/jobs/latest", "/api/problem"]),
        st.text("abz/.%0~?&=-_*", max_size=30).map(lambda text: "/" + text),
    ),
    st.one_of(st.binary(max_size=99), trees.map(json.dumps).map(str.encode), bodies.map(json.dumps).map(str.encode)),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sending=sendings)
def test_no_request_makes_the_server_fail(client, sending):
    method, address, body = sending
    assert client.ask(method, address, body).status < 500


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sent=st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=60).map(lambda host: b"GET / HTTP/1.1\r\nhost: " + host + b"\r\n\r\n"),
        st.binary(max_size=60).map(lambda name: b"POST /api/jobs HTTP/1.1\r\n" + name + b": 1\r\n\r\n"),
        st.binary(max_size=60).map(lambda address: b"GET /" + address + b" HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"),
    )
)
def test_bytes_that_are_not_http_do_not_make_the_server_fail(client, sent):
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
    assert not answer or b" 5" not in answer[:12]
    assert client.get("/api/jobs/1").status == 200


def test_a_page_that_was_never_opened_closes():
    page = Page(explored(draw(0)), exported)
    page.close()
    page.close()


def test_the_server_does_not_wait_for_a_body_that_does_not_come(client, monkeypatch):
    monkeypatch.setattr(requests, "PATIENCE", 0.2)
    head = f"POST /api/jobs HTTP/1.1\r\nhost: {client.own}\r\norigin: http://{client.own}\r\ncontent-length: 9\r\n\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=5) as connection:
        connection.sendall(head.encode())
        assert b" 408 " in connection.recv(100)
