"""Parquet and Arrow are read column by column: which columns, and how many at a time."""

import re
import tracemalloc
from itertools import product

import numpy as np
import polars as pl
import pytest

import manifuse as mf
from manifuse import InputError
from manifuse.tables import column_file, default_features, formats, paths
from manifuse.tables.column_file import ColumnFile
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.formats import open_columns
from manifuse.tables.score_tables import read_table

WRITERS = {"parquet": "write_parquet", "arrow": "write_ipc", "csv": "write_csv", "jsonl": "write_ndjson"}
READERS = {"parquet": "read_parquet", "arrow": "read_ipc"}


def wide(rows, columns, dtype):
    """Return features, and a table of them with whole numbers as ids, and scores."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((rows, columns)).astype(dtype)
    named = {f"x{k}": features[:, k] for k in range(columns)}
    return features, pl.DataFrame({"id": np.arange(rows), "score": rng.standard_normal(rows), **named})


def store(frame, path, **options):
    getattr(frame, WRITERS[path.suffix[1:]])(path, **options)
    return path


@pytest.fixture
def reads(monkeypatch):
    """Records the shapes of what polars reads from Parquet and Arrow."""
    shapes, collect = [], pl.LazyFrame.collect

    def recorded(self, **options):
        frame = collect(self, **options)
        if frame.columns != ["len"]:
            shapes.append(frame.shape)
        return frame

    monkeypatch.setattr(pl.LazyFrame, "collect", recorded)
    return shapes


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_are_in_memory_once(ending, dtype, tmp_path, monkeypatch, reads):
    rows, columns = 20_000, 40
    features, frame = wide(rows, columns, dtype)
    # Arrow files then have one batch for each piece.
    pieces = pl.concat(list(frame.iter_slices(3000)), rechunk=False)
    path = store(pieces, tmp_path / f"a.{ending}", **({"row_group_size": 3000} if ending == "parquet" else {}))
    del frame, pieces
    monkeypatch.setattr(column_file, "PART", 3 * rows)
    assert read_table(str(path)).features is not None  # imports what it needs
    reads.clear()
    tracemalloc.start()
    found = read_table(str(path)).features
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(found, features)
    assert found.dtype == dtype
    # In polars there are never more than three columns; in NumPy, the array and a few columns.
    whole = [width for length, width in reads if length == rows]
    assert max(whole) == 3
    assert sum(whole) == columns + 2
    # Before, the first rows are looked at: for row numbers, and with the scores.
    assert [each for each in reads if each[0] != rows] == [(500, columns), (500, columns + 1)]
    assert peak <= features.nbytes * (1 + 6 / columns)


def test_features_are_of_single_precision_where_all_are(tmp_path):
    _, frame = wide(9, 3, np.float32)
    assert read_table(str(store(frame, tmp_path / "a.parquet"))).features.dtype == np.float32
    mixed = frame.with_columns(pl.col("x1").cast(pl.Float64))
    assert read_table(str(store(mixed, tmp_path / "b.parquet"))).features.dtype == np.float64
    assert read_table(str(tmp_path / "b.parquet"), features="x[02]").features.dtype == np.float32
    whole = frame.with_columns(pl.col("x1").cast(pl.Int8))
    assert read_table(str(store(whole, tmp_path / "c.arrow"))).features.dtype == np.float64


@pytest.mark.parametrize("ending", WRITERS)
def test_an_array_of_columns_is_the_columns(ending, tmp_path, monkeypatch):
    _, frame = wide(9, 2, np.float32)
    frame = frame.with_columns(
        pl.when(pl.col("id") == 3).then(None).otherwise(pl.col("x1")).alias("x1"),
        pl.int_range(9).cast(pl.Int16).alias("whole"),
        pl.lit(None, dtype=pl.String).alias("nothing"),
        (pl.int_range(9) > 4).alias("yes"),
        pl.Series("text", [f" {k}.5" for k in range(9)]),
    )
    if ending == "parquet":
        frame = frame.with_columns(pl.col("x0").cast(pl.Decimal(20, 10)).alias("decimal"))
    path = store(frame, tmp_path / f"a.{ending}")
    file = open_columns(path)
    columns = file.take(list(file.types))
    names = [name for name in columns if name not in ("id", "score")]
    expected = np.column_stack([columns[name].astype(np.float64) for name in names])
    for part in (1, 20, 10_000):
        monkeypatch.setattr(column_file, "PART", part)
        np.testing.assert_array_equal(read_table(str(path), features=".").features, expected)


@pytest.mark.parametrize("ending", READERS)
def test_only_columns_that_are_asked_for_are_read(ending, tmp_path, reads):
    _, frame = wide(9, 5, np.float64)
    path = store(frame, tmp_path / f"a.{ending}")
    assert read_table(str(path), features="x[13]").features.shape == (9, 2)
    np.save(tmp_path / "f.npy", np.ones((9, 4)))
    assert read_table(f"{path}::{tmp_path / 'f.npy'}").features.shape == (9, 4)
    assert reads == [(9, 2), (9, 2), (9, 2)]


@pytest.mark.parametrize("ending", READERS)
def test_names_of_columns_are_not_patterns(ending, tmp_path):
    features, frame = wide(9, 4, np.float64)
    frame = frame.rename({"x0": "*", "x1": "^x.*$", "x2": "^", "x3": "a b"})
    path = store(frame, tmp_path / f"a.{ending}")
    np.testing.assert_array_equal(read_table(str(path)).features, features)
    np.testing.assert_array_equal(open_columns(path).take_matrix(["a b", "^x.*$"]), features[:, [3, 1]])


@pytest.mark.parametrize("ending", READERS)
def test_a_table_is_refused_by_the_memory_of_its_columns(ending, tmp_path, monkeypatch):
    rows, columns = 4000, 50
    _, frame = wide(rows, columns, np.float32)
    path = store(frame, tmp_path / f"a.{ending}")
    # A little more than the array, and less than four file sizes, which text would need.
    free = 4 * rows * (columns + 2 * column_file.COPIES)
    assert free < formats.GROWTH * path.stat().st_size
    monkeypatch.setattr(column_file, "PART", 2 * rows)
    monkeypatch.setattr(paths, "available_memory", lambda: free)
    monkeypatch.setattr(column_file, "ENTRY", 8)
    assert read_table(str(path)).features.shape == (rows, columns)
    monkeypatch.setattr(paths, "available_memory", lambda: free - 1)
    with pytest.raises(InputError, match="use a part of the file"):
        read_table(str(path)).features  # noqa: B018
    assert read_table(str(path), features="x1").features.shape == (rows, 11)


@pytest.mark.parametrize("rows", [8, 10])
def test_a_column_of_another_length_than_was_promised_is_refused(rows, tmp_path):
    _, frame = wide(9, 2, np.float64)
    file = ColumnFile(
        tmp_path / "a.parquet", frame.schema, rows, lambda *_: frame.get_columns(), False, theirs={}, text=()
    )
    with pytest.raises(InputError, match=f"cannot be read as parquet .9 rows came where the file promised {rows}"):
        file.take_matrix(["x0", "x1"])


ROWS = np.arange(12)
PLAIN = {"id": [f"r{row}" for row in ROWS], "score": np.sin(ROWS), "x": np.cos(ROWS), "late": np.maximum(ROWS, 1)}


@pytest.mark.parametrize(
    "name, values",
    [
        ("Unnamed: 0", 7.0 - 2 * ROWS),
        ("__index_level_0__", 7.0 - 2 * ROWS),
        ("index", 7.0 - 2 * ROWS),
        ("level_0", 7.0 - 2 * ROWS),
        ("", 7.0 - 2 * ROWS),
        ("Unnamed: 0", ROWS % 5),
        ("__index_level_0__", ROWS % 5),
        ("n", ROWS),
        ("n", ROWS + 1),
        ("n", ROWS.astype(np.float32)),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_column_that_numbers_the_rows_is_no_feature(tmp_path, name, values, ending):
    frame = pl.DataFrame({name: values, **PLAIN})
    path = tmp_path / f"main{ending}"
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[ending](path)
    says = rf"as the index of a data frame does, or hold nothing \({name or 'one without a name'}\); they"
    with pytest.warns(mf.ManifuseWarning, match=says):
        assert read_table(str(path)).feature_names == ("x", "late")
    # A later table without it has all that was fitted. What was fitted stays.
    pl.DataFrame(PLAIN).write_csv(tmp_path / "later.csv")
    assert read_table(str(tmp_path / "later.csv"), fitted=("x", "late")).feature_names == ("x", "late")
    assert read_table(str(path), fitted=(name, "x", "late")).feature_names == (name, "x", "late")
    with pytest.warns(mf.ManifuseWarning, match=says):
        assert mf.Observations.from_frame(frame).feature_names == ("x", "late")
    # Whoever names it means it.
    named = frame.drop("id").with_columns(pl.Series(name, ROWS))
    assert mf.Observations.from_frame(named, id=name).feature_names == ("x", "late")
    assert read_table(str(path), features=f"{name}$").feature_names == (name,)


@pytest.mark.parametrize("values", [[f"row {row}" for row in ROWS], [None] * len(ROWS)])
def test_names_of_rows_and_commas_at_the_ends_of_lines_are_no_feature(tmp_path, values):
    frame = pl.DataFrame({"": values, **PLAIN})
    frame.write_csv(tmp_path / "main.csv")
    with pytest.warns(
        mf.ManifuseWarning, match="one without a name.; they are left out. Name them with .*, or choose features with"
    ):
        assert read_table(str(tmp_path / "main.csv")).feature_names == ("x", "late")
    with pytest.warns(
        mf.ManifuseWarning,
        match="they are left out. Name them with .*, or give features to Observations by themselves",
    ):
        assert mf.Observations.from_frame(frame).feature_names == ("x", "late")


@pytest.mark.filterwarnings("ignore:.*are named like labels, folds, ids or results:manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize(
    "name, values",
    [
        *product(
            ["Unnamed: 0", "__index_level_0__", "index", "level_0", ""],
            [np.cos(ROWS), np.where(ROWS < 11, ROWS, np.nan)],
        ),
        *product(["index", "level_0", ""], [ROWS // 2]),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_a_feature_is_not_left_out_for_its_name(tmp_path, name, values, ending):
    frame = pl.DataFrame({name: values, **PLAIN})
    path = tmp_path / f"main{ending}"
    {".csv": frame.write_csv, ".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson}[ending](path)
    assert read_table(str(path)).feature_names == (name, "x", "late")
    if not np.isnan(values).any():
        assert mf.Observations.from_frame(frame).feature_names == (name, "x", "late")


@pytest.mark.parametrize("kind", ["text", "numbers"])
def test_columns_that_hold_nothing_are_no_features(tmp_path, kind):
    frame = pl.DataFrame(PLAIN).with_columns(
        pl.Series("note", [None] * len(ROWS), {"text": str, "numbers": float}[kind])
    )
    frame.write_parquet(tmp_path / "main.parquet")
    frame.write_csv(tmp_path / "main.csv")
    for path in ("main.parquet", "main.csv"):
        with pytest.warns(mf.ManifuseWarning, match=r"hold nothing \(note\); they are left out"):
            assert read_table(str(tmp_path / path)).feature_names == ("x", "late")
    with pytest.warns(mf.ManifuseWarning, match=r"hold nothing \(note\); they are left out"):
        assert mf.Observations.from_frame(frame).feature_names == ("x", "late")
    # A column that lacks some values is still a feature, which must be filled in.
    some = frame.with_columns(pl.Series("note", [1.0] + [None] * (len(ROWS) - 1)))
    with pytest.raises(mf.InputError, match="column 'note'"):
        mf.Observations.from_frame(some)


@pytest.mark.parametrize("end", ["", ",,\n", "\n\n", ",,\n\n,,"])
def test_lines_at_the_end_that_hold_nothing_are_no_rows(tmp_path, end):
    path = tmp_path / "main.csv"
    # The name of the last column is a pattern to polars.
    path.write_text("id,score,^x.*$\n" + "".join(f"r{row},{row}.5,1\n" for row in ROWS) + end)
    assert read_table(str(path)).ids.tolist() == [f"r{row}" for row in ROWS]


def test_a_column_numbers_rows_only_if_it_numbers_all(tmp_path):
    rows = np.arange(2 * default_features.HEAD)
    frame = pl.DataFrame({"id": rows + 7, "score": np.sin(rows), "day": rows % (len(rows) - 3), "hour": rows + 2})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    for file in ("a.csv", "a.parquet"):
        table = read_table(str(tmp_path / file))
        assert table.feature_names == ("day", "hour")
        np.testing.assert_array_equal(table.features, frame.select("day", "hour"))
    few = pl.DataFrame({"id": ["a", "b"], "score": [1.0, 2.0], "x": [0, 1]})
    assert mf.Observations.from_frame(few).feature_names == ("x",)


def test_the_rest_of_the_probabilities_is_no_features(tmp_path):
    rng = np.random.default_rng(0)
    shares, others = rng.dirichlet(np.ones(4), 40).round(3), rng.random((40, 3))
    frame = pl.DataFrame(
        {"id": [f"r{row}" for row in range(40)]} | dict(zip(["p0", "p1", "p2", "p3"], shares.T, strict=True))
    )
    wide = frame.with_columns(
        wealth=others[:, 0], age=50 * others[:, 1], **{f"in_{k}": (others[:, 2] * 3 // 1 == k) * 1.0 for k in range(3)}
    )
    for number, each in enumerate([frame, wide, frame.select("id", "p0", p3=1 - pl.col("p0"))]):
        for ending in ("csv", "parquet"):
            path = tmp_path / f"{number}.{ending}"
            each.write_csv(path) if ending == "csv" else each.write_parquet(path)
            with pytest.raises(InputError, match=r"'p3' sums to 1 with .*name all of them with `classes` 'p\(\.\*\)'"):
                read_table(str(path), columns=ColumnNames(score=("p3",)))
            # They may be features, if one says so, and other columns are.
            named = read_table(str(path), columns=ColumnNames(score=("p3",)), features="p")
            assert "p0" in named.feature_names
            dropped = read_table(str(path), columns=ColumnNames(score=("p3",), drop=("p0",)))
            assert "p0" not in (dropped.feature_names or ())
        with pytest.raises(InputError, match=r"'p3' sums to 1 with 'p0'.*name all of them as `classes`"):
            mf.Observations.from_frame(each, score="p3")
    # Where classes were named, other columns that sum to 1 are no features of scores, but for indicators.
    scored = wide.with_columns(score=others[:, 1])
    scored.write_csv(tmp_path / "scored.csv")
    says = "'p0', 'p1', 'p2', 'p3' sum to 1 in every row.* `classes` names none"
    with pytest.raises(InputError, match=says):
        read_table(str(tmp_path / "scored.csv"), columns=ColumnNames(classes="prob_(.*)"))
    with pytest.raises(InputError, match=says):
        mf.refine(scored, [frame], classes="prob_(.*)")
    for columns in (ColumnNames(), ColumnNames(classes="prob_(.*)", drop=("p0",))):
        assert "p1" in read_table(str(tmp_path / "scored.csv"), columns=columns).feature_names
    words = frame.rename({"p0": "cat", "p1": "dog", "p2": "cow", "p3": "horse"})
    words.write_csv(tmp_path / "words.csv")
    with pytest.raises(InputError, match=re.escape("`classes` 'horse|cat|dog|cow'")):
        read_table(str(tmp_path / "words.csv"), columns=ColumnNames(score=("horse",)))


def test_scores_of_rare_events_and_numbers_near_one_are_no_classes(tmp_path):
    rng = np.random.default_rng(0)
    rare = {"id": [f"r{row}" for row in range(40)], "score": 0.002 * rng.random(40), "x": rng.standard_normal(40)}
    for beside in (np.ones(40), 1.0 - 0.004 * rng.random(40)):
        pl.DataFrame(rare | {"purity": beside}).write_csv(tmp_path / "rare.csv")
        assert read_table(str(tmp_path / "rare.csv")).feature_names == ("x", "purity")


def test_a_class_may_be_in_a_column_called_score(tmp_path, monkeypatch):
    """This is what the sentence about the rest of the probabilities says to do."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    said = rng.random(60)
    for name, rows in (("ours", slice(None)), ("theirs", slice(0, 30))):
        noisy = (said + 0.2 * rng.random(60)) / 1.3
        columns = {"id": [f"r{row}" for row in range(60)], "score": noisy, "p0": 1.0 - noisy, "x": said}
        pl.DataFrame(columns)[rows].write_csv(f"{name}.csv")
    with pytest.raises(InputError, match=re.escape("name all of them with `classes` 'score|p0'")):
        read_table("ours.csv")
    table = read_table("ours.csv", columns=ColumnNames(classes="score|p0"))
    assert (table.class_names, table.feature_names) == (["score", "p0"], ("x",))
    mf.refine_files("ours.csv", "theirs.csv", classes="score|p0", out="out.csv")
    assert pl.read_csv("out.csv").columns == ["id", "predicted", "original", "score", "p0", "support"]


def test_a_header_of_more_than_a_megabyte_is_read_whole(tmp_path):
    names = [f"{'x' * 50_000}{number}" for number in range(30)]
    (tmp_path / "a.csv").write_text(",".join(["id", *names]) + "\n" + ",".join(["a", *["1"] * 30]) + "\n")
    assert list(open_columns(tmp_path / "a.csv").types) == ["id", *names]


def test_features_may_be_chosen_beside_an_archive_that_has_none(tmp_path):
    path = tmp_path / "theirs.npz"
    np.savez(path, ids=np.arange(9), scores=np.arange(9.0))
    assert read_table(str(path), features="x").features is None
