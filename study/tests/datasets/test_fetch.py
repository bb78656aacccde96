"""Fetching: all of a data set comes or nothing does, and never from anywhere but its address."""

import zipfile
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
from study.tests.datasets.published import write_mfeat

import manifuse as mf
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.fetch import fetch
from manifuse_study.datasets.hw import WIDTHS

requests = pytest.importorskip("requests")
pytest.importorskip("pooch")

HW = CATALOGUE["hw"]


@pytest.fixture(scope="module")
def mfeat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uci")
    write_mfeat(folder, np.random.default_rng(0))
    return {path.name: path.read_bytes() for path in sorted((folder / "hw").iterdir())}


def archive_of(members):
    """A downloader that brings a zip archive of these members."""

    def download(url, output, pooch):
        assert url == HW.address
        with zipfile.ZipFile(output, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)

    return download


def test_what_is_fetched_is_put_in_place_and_read(tmp_path, mfeat):
    folder = tmp_path / "new" / "data"
    dataset = fetch(HW, folder, downloader=archive_of(mfeat | {"mfeat.info": b"about"}))
    assert len(dataset) == 2000
    assert sorted(path.name for path in folder.rglob("*") if path.is_file()) == sorted(mfeat)
    assert (folder / "hw" / "mfeat-zer").read_bytes() == mfeat["mfeat-zer"]
    with pytest.raises(mf.InputError, match="already has files of hw"):
        fetch(HW, folder, downloader=archive_of(mfeat))


def test_an_archives_own_paths_lead_nowhere(tmp_path, mfeat):
    folder = tmp_path / "data"
    escaping = {f"../../{name}": content for name, content in mfeat.items()} | {"../evil": b"", "/evil": b""}
    fetch(HW, folder, downloader=archive_of(escaping))
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(mfeat)
    assert {path.parent for path in tmp_path.rglob("mfeat-*")} == {folder / "hw"}


def offline(url, output, pooch):
    with open(output, "wb") as file:
        file.write(b"half of i")
    raise requests.exceptions.ConnectionError("no route to host")


def nonsense(url, output, pooch):
    with open(output, "wb") as file:
        file.write(b"<html>moved</html>")


def absent(url, output, pooch):
    raise requests.exceptions.HTTPError("404")


@pytest.mark.parametrize(
    "downloader, sentence",
    [
        (offline, r"could not be fetched \(ConnectionError\); check that this machine is online"),
        (absent, r"could not be fetched \(HTTPError\)"),
        (nonsense, "came damaged"),
        (archive_of({"mfeat-fou": b"1"}), "came without mfeat-fac"),
        (
            archive_of({f"mfeat-{view}": b"1 2\n3" for view in WIDTHS}),
            r"something else than the data set hw: hw.mfeat-fou cannot be read as a table",
        ),
        (archive_of({f"mfeat-{view}": b"1 2\n" for view in WIDTHS}), "is 1 x 2, but 2000 x 76 was expected"),
    ],
)
def test_a_failure_is_one_sentence_and_leaves_nothing(tmp_path, downloader, sentence):
    with pytest.raises(mf.InputError, match=sentence) as refusal:
        fetch(HW, tmp_path / "new" / "data", downloader=downloader)
    assert "\n" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        del words


@pytest.fixture
def server(tmp_path_factory, monkeypatch):
    """A web server on this machine and the folder that it serves."""
    folder = tmp_path_factory.mktemp("served")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as served:
        thread = Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}/it.zip", folder
        served.shutdown()
        thread.join()


def test_pooch_itself_fetches_and_fails_in_the_same_words(tmp_path, mfeat, server):
    url, folder = server
    there = replace(HW, address=url)
    with pytest.raises(mf.InputError, match=r"could not be fetched \(HTTPError\)"):
        fetch(there, tmp_path)
    assert list(tmp_path.iterdir()) == []
    with zipfile.ZipFile(folder / "it.zip", "w") as archive:
        for name, content in mfeat.items():
            archive.writestr(name, content)
    assert len(fetch(there, tmp_path)) == 2000


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in ("hw", "digits")])
def test_sets_without_a_stable_address_say_where_their_owner_has_them(tmp_path, name):
    with pytest.raises(mf.InputError, match="no stable public address") as refusal:
        fetch(CATALOGUE[name], tmp_path, downloader=offline)
    assert CATALOGUE[name].owner in str(refusal.value)


def test_a_bundled_set_needs_no_fetching(tmp_path):
    with pytest.raises(mf.InputError, match="needs no fetching"):
        fetch(CATALOGUE["digits"], tmp_path, downloader=offline)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, mfeat):
    (tmp_path / "file").write_text("")
    with pytest.raises(mf.InputError, match="cannot be written"):
        fetch(HW, tmp_path / "file" / "data", downloader=archive_of(mfeat))
