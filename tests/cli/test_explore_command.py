"""``manifuse explore`` as a user runs it; ``refine --config`` repeats what the page exports, to the bit."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.page.test_exploration import explored
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app
from manifuse.cli.explore_command import explore_dataset, explore_files, serve
from manifuse.page.server import Page


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = draw(0)
    for table in (case.main, *case.references):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        frame = pl.DataFrame({"id": table.keys, "score": table.scores, **features})
        frame.write_csv(f"{table.name.replace(' ', '')}.csv")
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_csv("known.csv")
    return tmp_path


FILES = ["main.csv", "--reference", "reference1.csv", "--reference", "reference2.csv", "--labels", "known.csv"]


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *map(str, arguments)])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), " ".join(capsys.readouterr().err.split())
    return 0, ""


def test_the_export_of_files_repeats_what_is_shown_to_the_bit(folder, monkeypatch, capsys):
    (folder / "more.toml").write_text("seed = 5\n[method.diffusion]\nneighbours = 7\n")
    references = ["reference1.csv", "reference2.csv"]
    page = explore_files(
        {"main": "main.csv", "reference": references, "labels": Path("known.csv"), "config": Path("more.toml")}
    )
    try:
        shown = page._exploration.asked(ignored=["reference1"], same_target=False)
        file = page._export(shown)
        exploration = page._exploration
        expected = mf.refine(exploration.main, exploration.references, exploration.labels, shown, rng=5)
    finally:
        page.close()
    assert file.command == "manifuse refine --config run.toml"
    (folder / "run.toml").write_bytes(file.content)
    assert run(monkeypatch, capsys, "refine", "--config", "run.toml")[0] == 0
    assert pl.read_csv("refined.csv")["score"].to_list() == expected.predictions.tolist()
    written = tomllib.loads(file.content.decode())["method"]
    assert (written["ignored"], written["same_target"]) == (["reference1"], False)


def test_the_export_overwrites_no_input_and_does_nothing_else(folder, monkeypatch, capsys):
    (folder / "main.csv").rename("refined.csv")
    (folder / "known.csv").rename("refined-2.csv")
    (folder / "more.toml").write_text('save = "model.npz"\nreport = "page.html"\nbackend = "cpu"\n')
    Path("refined-3.csv").hardlink_to("reference1.csv")
    given = {"main": "refined.csv", "reference": ["reference1.csv"], "labels": Path("refined-2.csv")}
    page = explore_files(given | {"config": Path("more.toml")})
    try:
        content = page._export(page._exploration.method).content
    finally:
        page.close()
    written = tomllib.loads(content.decode())
    assert not written.keys() & {"save", "report"}
    assert written["backend"] == "host"
    (folder / "run.toml").write_bytes(content)
    before = {path.name for path in folder.iterdir()}
    assert run(monkeypatch, capsys, "refine", "--config", "run.toml")[0] == 0
    assert {path.name for path in folder.iterdir()} - before == {"refined-4.csv", "refined-4.run.toml"}


@pytest.mark.parametrize("host, warned", [("127.0.0.1", False), ("0.0.0.0", True)])
def test_a_page_that_others_can_open_warns(host, warned, monkeypatch, capsys):
    class Server:
        def __init__(self, config):
            del config

        def run(self, sockets):
            del sockets

        def handle_exit(self, number, frame):
            pytest.fail(f"signal {number} came in {frame}")

    monkeypatch.setattr("uvicorn.Server", Server)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    page = Page(explored(draw(0, rows=40, pairs=20)), lambda method: pytest.fail(f"{method} was exported"))
    with socket.create_server((host, 0)) as listening:
        serve(page, listening, host=host)
    said = " ".join(capsys.readouterr().err.split())
    assert ("can read the tables" in said) == warned


def test_the_export_of_a_data_set_brings_its_tables(tmp_path, monkeypatch, capsys):
    page = explore_dataset(None, "zernike", None, seed=2)
    try:
        exploration = page._exploration
        shown = exploration.asked(ignored=["pixels"], same_target=True)
        file = page._export(shown)
        assert page._export(shown).content == file.content
    finally:
        page.close()
    zipfile.ZipFile(io.BytesIO(file.content)).extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "explored")
    assert run(monkeypatch, capsys, "refine", "--config", "run.toml")[0] == 0
    assert tomllib.loads((tmp_path / "explored" / "run.toml").read_text())["seed"] == 2
    expected = mf.refine(exploration.main, exploration.references, exploration.labels, shown, rng=2)
    with np.load("refined.npz") as archive:
        np.testing.assert_array_equal(archive["score"], expected.predictions)
    assert exploration.main.name == "zernike"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_it_serves_until_it_is_interrupted(folder, number):
    process = subprocess.Popen(
        [sys.executable, "-m", "manifuse", "explore", *FILES, "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0]
        with urllib.request.urlopen(f"{address}/api/jobs/latest") as answer:
            assert json.load(answer)["job"] == "1"
        # A client that promised a body and does not send it holds nobody up.
        port = int(address.rpartition(":")[2])
        slow = socket.create_connection(("127.0.0.1", port))
        slow.sendall(f"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 9\r\n\r\n".encode())
        time.sleep(0.2)
    finally:
        start = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=30)
    assert time.monotonic() - start < 5
    slow.close()
    assert process.returncode == 0
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["main.csv"], "--reference is missing"),
        (["--labels", "known.csv"], "MAIN is missing"),
        ([*FILES, "--dataset", "digits"], "Both tables and a data set came"),
        (["nowhere.csv", "--reference", "reference1.csv"], "nowhere.csv is not there"),
        (["main.csv", "--reference", "main.csv"], "is the main table itself"),
        ([*FILES[:-1], "main.csv"], "id and label, or better and worse, were expected"),
        (["--view", "forier"], "did you mean 'fourier'"),
        (["--data", "."], "--data . came without --dataset"),
        (["--task", "sorting"], "'ranking' or 'regression'"),
    ],
)
def test_what_cannot_be_shown_is_refused(folder, monkeypatch, capsys, arguments, says):
    status, sentence = run(monkeypatch, capsys, "explore", *arguments, "--port", 0)
    assert status == 2
    assert says in sentence
    assert "Traceback" not in sentence


def test_a_port_that_is_taken_is_refused(folder, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, sentence = run(monkeypatch, capsys, "explore", *FILES, "--port", taken.getsockname()[1])
    assert status == 2
    assert "cannot be listened on" in sentence


@pytest.mark.parametrize("module", ["starlette", "uvicorn"])
def test_without_the_extra_the_command_that_installs_it_is_named(folder, monkeypatch, capsys, module):
    monkeypatch.setitem(sys.modules, module, None)
    status, sentence = run(monkeypatch, capsys, "explore", *FILES)
    assert status == 2
    assert "pip install 'manifuse[page]'" in sentence
