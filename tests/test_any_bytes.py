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
from manifuse.cli.refine_options import RefineOptions
from manifuse.run import later_rows
from manifuse.tables.label_table import read_labels
from manifuse.tables.observing import observe
from manifuse.tables.score_tables import read_features, read_table
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
    observe(read_table(str(path)), drop=True)


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


@ANY
@given(VALUES)
def test_any_tree_in_a_saved_refinement(tmp_path, model, tree):
    with np.load(BytesIO(model)) as archive:
        arrays = dict(archive)
    content = json.loads(bytes(arrays["plain"]))
    changes = [tree, *(content["refinement"] | {name: tree} for name in content["refinement"])]
    for changed in changes:
        text = json.dumps(content | {"refinement": changed})
        file = BytesIO()
        np.savez(file, **(arrays | {"plain": np.frombuffer(text.encode(), dtype=np.uint8)}))
        try_to_read(tmp_path / "a.npz", file.getvalue(), mf.load)


#: Changes to an array of a saved refinement: another type, another shape, another value.
DTYPES = ["f2", "f4", "f8", "c16", "i1", "u8", "?", "U3", "S3", "M8[s]"]
SHAPES = {
    "none": lambda a: a[:0],
    "shorter": lambda a: a[:-1],
    "longer": lambda a: np.concatenate([a, a]),
    "flat": np.ravel,
    "upright": lambda a: a[:, None],
    "lying": lambda a: a[None],
    "one": lambda a: a.ravel()[0] if a.size else a,
}
ENTRIES = st.tuples(st.integers(0, 1 << 16), st.sampled_from([np.nan, np.inf, -np.inf, -1, 0, 2, 10**6]))


def mutated(array, change):
    """Return the array with another type or shape, or with one other entry."""
    if change in DTYPES:
        return array.astype(change)
    if change in SHAPES:
        return SHAPES[change](array)
    place, value = change
    changed = array.copy()
    if array.size and array.dtype.kind in "iufb" and (np.isfinite(value) or array.dtype.kind == "f"):
        changed.ravel()[place % array.size] = value
    return changed


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Arrays of saved refinements with and without bridges, labels and smoothing, each with later rows."""
    saved = []
    for features, labelled in ((True, True), (True, False), (False, False)):
        case = draw(0, rows=40, pairs=15 if features else 40, references=2, features=features)
        method = mf.JointDiffusion(safeguarded=False, diffusion=mf.Algorithm1(ignore_chance=False, rounds=3))
        path = tmp_path_factory.mktemp("saved") / "model.npz"
        mf.save(mf.refine(case.main, case.references, case.labels() if labelled else None, method, rng=0), path)
        table = None if case.main.table is None else case.main.table[:3] + 0.02
        keys = case.references[0].keys[-3:] if not features else ["a", "b", "c"]
        with np.load(path) as archive:
            saved.append((dict(archive), mf.Observations(case.main.scores[:3] + 0.1, table, ids=keys)))

    def model(which):  # a function, because a list of arrays is too long to be printed
        return saved[which]

    return model


@settings(ANY, max_examples=300)
@given(st.integers(0, 2), st.integers(0, 1 << 16), st.sampled_from([*DTYPES, *SHAPES]) | ENTRIES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Rows of table were fitted with other scores")
def test_any_array_in_a_saved_refinement(tmp_path, models, which, place, change):
    arrays, later = models(which)
    name = sorted(name for name in arrays if name != "plain")[place % (len(arrays) - 1)]
    try:
        changed = mutated(arrays[name], change)
    except (TypeError, ValueError):
        return  # text that is not a number
    path = tmp_path / "a.npz"
    np.savez(path, **(arrays | {name: changed}))
    try:
        result = mf.load(path)
    except mf.InputError:
        return
    try:
        applied = result.apply(later)
    except mf.InputError as error:
        assert "leave the range of numbers" in str(error)  # noqa: PT017
        return
    assert np.isfinite(applied).all()
    assert applied.shape == (3,)


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
    try_to_read(tmp_path / "run.toml", content, lambda path: read_options(RefineOptions, {"config": path}))
