"""Whatever bytes a file holds, its reader returns a table or raises one sentence, and never hangs."""

import json
import signal
from contextlib import contextmanager
from io import BytesIO

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import manifuse as mf
from manifuse.cli.config import read_options
from manifuse.run import later_rows
from manifuse.tables.archives import read_features
from manifuse.tables.problem_files import read_labels
from manifuse.tables.score_tables import read_table
from tests.problems import draw

ANY = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

#: Cells, lines and texts that look like the content of a table; not all of them are valid.
CELLS = st.one_of(
    st.sampled_from(
        ["id", "score", "x", "", " ", "a", "1", "-1e400", "nan", "2024-01-02", '"', '""', "\0", "é", "\ufeff"]
    ),
    st.floats().map(str),
    st.text(max_size=4),
)
CSV = st.lists(st.lists(CELLS, min_size=1, max_size=4).map(",".join), max_size=6).map("\n".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
NAMED = st.dictionaries(st.sampled_from(["id", "score", "x"]), VALUES, max_size=3)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Later rows in small blocks, because a block is filled up."""
    monkeypatch.setattr(later_rows, "BLOCK", 64)


@contextmanager
def patience(seconds=10):
    """Interrupt code that hangs."""

    def give_up(*_):
        raise TimeoutError("the reader hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def try_to_read(path, content, read):
    """Read a file of this content; the only error may be one sentence."""
    path.write_bytes(content)
    said = "read."
    try:
        with patience():
            read(path)
    except mf.InputError as error:
        said = str(error)
    assert "\n" not in said
    assert said.endswith(".")


def table(path):
    read_table(str(path)).observed(drop=True)


@ANY
@given(st.binary(max_size=200) | CSV.map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"id,score,x\n" + b"\xff" * 9)
@example(b'id,score,x\n"a,1,2\n')
@example(b"id,score\na,1\nb,99999999999999999999999999999999\n")
def test_any_csv(tmp_path, content):
    try_to_read(tmp_path / "a.csv", content, table)
    try_to_read(tmp_path / "a.csv", content, read_labels)


@ANY
@given(
    st.binary(max_size=200)
    | st.lists(VALUES | NAMED, max_size=4).map(lambda v: "\n".join(map(json.dumps, v)).encode())
)
@example(b"[" * 5000)
@example(b'{"id": "a", "score": 1, "x": [[1, 2], [3, 4]]}\n')
def test_any_json_lines(tmp_path, content):
    try_to_read(tmp_path / "a.jsonl", content, table)


def archived():
    content = BytesIO()
    np.savez(content, ids=np.arange(9), scores=np.arange(9.0), features=np.ones((9, 2)))
    return content.getvalue()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Bytes of a saved refinement."""
    case = draw(0, rows=40, pairs=15, references=1)
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    mf.save(mf.refine(case.main, case.references, rng=0), path)
    return path.read_bytes()


def damaged(whole, data):
    """Change some bytes, and perhaps cut off the end."""
    content = bytearray(
        whole[: data.draw(st.integers(len(whole) // 2, len(whole)))] if data.draw(st.booleans()) else whole
    )
    places = st.integers(0, len(content) - 1) | st.integers(0, min(300, len(content) - 1))
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=6)):
        content[place] = byte
    return bytes(content)


@ANY
@given(st.data())
def test_any_archive(tmp_path, data):
    try_to_read(tmp_path / "a.npz", data.draw(st.binary(max_size=100)), table)
    try_to_read(tmp_path / "a.npz", damaged(archived(), data), table)


@ANY
@given(st.data())
def test_any_feature_file(tmp_path, data):
    whole = BytesIO()
    np.save(whole, np.ones((9, 2)))
    try_to_read(tmp_path / "a.npy", damaged(whole.getvalue(), data), read_features)


@ANY
@given(st.data())
def test_any_saved_refinement(tmp_path, model, data):
    try_to_read(tmp_path / "a.npz", damaged(model, data), mf.load)


TOML = st.lists(
    st.tuples(
        st.sampled_from(
            ["main", "reference", "out", "seed", "[method]\nrounds", "[method]\nbridge", "[method]\nneighbours"]
        ),
        st.sampled_from(
            ["1", "-1", "nan", "[]", "[[1]]", "{}", '{ step = "x" }', '"a"', "1979-05-27", "true", "1e400"]
        ),
    ).map(" = ".join),
    max_size=3,
).map("\n".join)


@ANY
@given(st.binary(max_size=100) | TOML.map(str.encode) | st.text(max_size=60).map(str.encode))
@example(b"seed = " + b"[" * 5000)
@example(b'main = "a\\u0000"\nreference = ["b"]\nout = "c.csv"')
def test_any_config(tmp_path, content):
    try_to_read(tmp_path / "run.toml", content, lambda path: read_options({"config": path}))
