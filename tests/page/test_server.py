"""The server behind the page: what it answers, whom it answers, and that no request makes it fail."""

import json
import socket
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.page.conftest import exported
from tests.page.test_exploration import explored
from tests.page.test_packing import unpack
from tests.problems import draw

import manifuse as mf
from manifuse.evidence.neighbourhood import neighbourhood
from manifuse.page import requests
from manifuse.page.exploration import set_as_shown
from manifuse.page.guard import Guard
from manifuse.page.requests import LARGEST
from manifuse.page.server import STATIC, Page

#: With another port, as when the connection is forwarded.
LOOPBACK = "localhost:8765"

BRIDGES = {"neighbours": 4, "score_scale": 0.1, "step": 3, "candidate": 0}

SHOWN = {"bridges": "1", "step_size": 0.7, "weight_scale": 0.4, "steps": 3, "ignored": ["reference 2"]}


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


def test_the_problem_and_the_columns_arrive(client):
    facts, arrays = unpack(client.get("/api/problem").content)
    assert facts["rows"] == len(arrays["scores"]) == 160
    facts, arrays = unpack(client.get("/api/jobs/1/result").content)
    assert arrays["columns"].shape == (4, 160)
    assert facts["bridges"] == {
        "neighbours": 6,
        "score_scale": 0.1,
        "step": 10.0,
        "candidate": 0,
    }


def test_new_bridges_are_built_and_refined_over(client):
    asked = client.post("/api/bridges", {**BRIDGES, "score_scale": None})
    assert asked.status == 202
    name = asked.json()["job"]
    assert client.wait(name)["state"] == "done"
    assert client.get("/api/jobs/latest").json()["job"] == name
    facts, _ = unpack(client.get(f"/api/jobs/{name}/result").content)
    assert facts["bridges"] == {
        "neighbours": 4,
        "score_scale": None,
        "step": 3.0,
        "candidate": 0,
    }
    case = draw(1)
    bridges = mf.JointDiffusion(neighbours=4, score_scale=np.inf, bridge=mf.ImplicitEuler(3.0))
    refined = {}
    for address in ("check", "refinement"):
        asked = client.post(f"/api/{address}", {**SHOWN, "bridges": name}).json()["job"]
        assert client.wait(asked)["state"] == "done"
        refined[address] = unpack(client.get(f"/api/jobs/{asked}/result").content)
    shown = set_as_shown(bridges, step_size=0.7, weight_scale=0.4, steps=3, ignored=("reference 2",))
    expected = mf.refine(case.main, case.references, case.labels(), shown, rng=3).predictions
    np.testing.assert_array_equal(refined["check"][1]["predictions"], expected)
    assert refined["refinement"][0]["rounds"] > 1
    expected = mf.refine(
        case.main, case.references, case.labels(), replace(shown, rounds=20, steps=None), rng=3
    ).predictions
    np.testing.assert_array_equal(refined["refinement"][1]["predictions"], expected)


def test_a_job_can_be_cancelled_and_the_page_goes_on(client):
    name = client.post("/api/bridges", {**BRIDGES, "neighbours": 40}).json()["job"]
    assert client.get(f"/api/jobs/{name}/result").status == 409
    assert client.post("/api/bridges", BRIDGES).json()["error"].startswith("Another computation is running")
    refusal = client.post("/api/export", {**SHOWN, "bridges": name}).json()["error"]
    assert refusal.endswith("wait until bridges are built.")
    assert client.ask("DELETE", f"/api/jobs/{name}").json()["state"] == "cancelled"
    assert client.get("/api/problem").status == 200
    assert client.get("/api/jobs/latest").json()["state"] == "done"
    name = client.post("/api/bridges", BRIDGES).json()["job"]
    assert client.wait(name)["state"] == "done"


def test_the_export_is_of_the_method_that_is_shown(client):
    answer = client.post("/api/export", SHOWN)
    assert answer.text == "steps = 3\n"
    assert answer.headers["content-disposition"] == 'attachment; filename="run.toml"'
    assert answer.headers["x-manifuse-command"] == "manifuse refine --config run.toml"


@pytest.mark.parametrize(
    "change, says",
    [
        ({"bridges": "77"}, "no such job"),
        ({"bridges": 1}, "bridges = 1 came, but the name of a job as text was expected."),
        ({"steps": 0}, "whole number from 1"),
        ({"steps": True}, "whole number"),
        ({"steps": 21}, "to 20"),
        ({"step_size": "1"}, "a number from 1e-12 to 1e12"),
        ({"step_size": -1.0}, "a number from"),
        ({"weight_scale": 10**400}, "a number from"),
        ({"ignored": ["nobody"]}, "a list of names of references"),
        ({"ignored": [["nobody"]]}, "a list of names of references"),
        ({"ignored": "reference 2"}, "a list of names of references"),
        ({"more": 1}, "exactly these fields: bridges, step_size"),
    ],
)
@pytest.mark.parametrize("address", ["/api/export", "/api/check", "/api/refinement"])
def test_a_request_out_of_range_is_refused_in_a_sentence(client, address, change, says):
    answer = client.post(address, {**SHOWN, **change})
    assert answer.status in (400, 404)
    assert says in answer.json()["error"]


@pytest.mark.parametrize(
    "change, says",
    [
        ({"neighbours": 0}, "whole number"),
        ({"neighbours": 2.5}, "whole number"),
        ({"candidate": 1}, "a whole number from 0 to 0"),
        ({"candidate": True}, "a whole number"),
        ({"candidate": [0]}, "a whole number"),
        ({"score_scale": 0}, "a number from 1e-12 to 1e12, or null"),
        ({"step": 1e6}, "a step in"),
        ({"step": None}, "a number from"),
    ],
)
def test_bridges_out_of_range_are_refused_in_a_sentence(client, change, says):
    answer = client.post("/api/bridges", {**BRIDGES, **change})
    assert answer.status == 400
    assert says in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff\xfe", b"NaN", b'{"steps": NaN}', b"[" * 50000, b"9" * 5000, b'"\\ud800"']
)
@pytest.mark.parametrize("address", ["/api/bridges", "/api/refinement", "/api/export"])
def test_a_body_that_is_not_a_json_object_is_refused(client, address, body):
    answer = client.ask("POST", address, body)
    assert answer.status == 400
    assert "one JSON object" in answer.json()["error"]


def test_other_methods_and_jobs_are_refused(client):
    assert client.post("/api/problem", {}).status == 405
    assert client.ask("PUT", "/").status == 405
    assert client.get("/api/export").status == 405
    assert client.get("/api/jobs/" + "9" * 5000).status == 404
    assert client.ask("DELETE", "/api/jobs/none").status == 404
    assert client.ask("POST", "/api/export", b" " * (LARGEST + 1)).status == 413


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
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
    ],
)
def test_other_hosts_and_origins_are_refused(client, headers, status):
    for address in ("/", "/api/problem", "/api/jobs/latest"):
        assert client.get(address, **headers).status == status
    assert client.post("/api/export", SHOWN, **headers).status == status


def test_a_request_that_changes_something_must_have_an_origin(client):
    assert client.post("/api/bridges", BRIDGES, origin=None).status == 403
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
bodies = st.fixed_dictionaries({name: st.one_of(st.just(value), trees) for name, value in SHOWN.items()})
sendings = st.tuples(
    st.sampled_from(["GET", "POST", "DELETE", "PUT", "HEAD", "OPTIONS", "PATCH", "BREW"]),
    st.one_of(
        st.sampled_from(["/api/export", "/api/refinement", "/api/jobs/1/result", "/api/jobs/latest", "/api/problem"]),
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
        st.binary(max_size=60).map(lambda name: b"POST /api/export HTTP/1.1\r\n" + name + b": 1\r\n\r\n"),
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
    head = (
        f"POST /api/export HTTP/1.1\r\nhost: {client.own}\r\norigin: http://{client.own}\r\ncontent-length: 9\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port), timeout=5) as connection:
        connection.sendall(head.encode())
        assert b" 408 " in connection.recv(100)


def test_what_is_near_a_row_is_said(client):
    case = draw(1)
    facts = client.get("/api/rows/7").json()
    expected = neighbourhood(case.main, case.references, 7, standardised=True)
    assert facts["near"] == expected.near.tolist()
    assert [each["rows"] for each in facts["pairs"]] == [rows.tolist() for rows in expected.pairs]
    assert [each["theirs"] for each in facts["pairs"]] == [places.tolist() for places in expected.theirs]
    assert client.get("/api/rows/160").status == 404
    assert client.get("/api/rows/x").status == 404
