"""Input that is refused: one sentence, exit status 2, nothing written, no traceback."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from tests.problems import draw, remade

from manifuse.cli import app


def table(observations, **columns):
    features = {} if observations.table is None else {f"x{k}": c for k, c in enumerate(observations.table.T)}
    return pl.DataFrame({"id": observations.keys, "score": observations.scores, **features} | columns)


CASE = draw(0, rows=60, pairs=30, references=1)
MAIN, REFERENCE = table(CASE.main), table(CASE.references[0])
LABELS = pl.DataFrame({"id": CASE.main.keys[:20], "label": np.arange(20)})


def text(content):
    return lambda path: path.write_text(content)


def binary(content):
    return lambda path: path.write_bytes(content)


def frame(content):
    return lambda path: content.write_csv(path)


def archive(**arrays):
    return lambda path: np.savez(path, **arrays)


def cell(frame, column, row, value):
    return frame.with_columns(
        pl.when(pl.int_range(frame.height) == row).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


#: What stands in for which file, further arguments, and what the sentence says.
CASES = {
    "no common ids": (
        {"reference.csv": frame(REFERENCE.with_columns(("z" + pl.col("id")).alias("id")))},
        [],
        "shares 0",
    ),
    "two pairs": (
        {"reference.csv": frame(table(draw(0, rows=60, pairs=2, references=1).references[0]))},
        [],
        "shares 2 of its 60 ids",
    ),
    "ids repeat": ({"main.csv": frame(cell(MAIN, "id", 1, "m0"))}, [], "1 repeated values (first: 'm0')"),
    "ids missing": ({"main.csv": frame(cell(MAIN, "id", 1, None))}, [], "no value in row 1"),
    "NaN score": ({"main.csv": frame(cell(MAIN, "score", 2, float("nan")))}, [], "score in row 2"),
    "infinite feature": ({"main.csv": frame(cell(MAIN, "x1", 4, float("inf")))}, [], "features in row 4"),
    "missing feature": ({"reference.csv": frame(cell(REFERENCE, "x1", 4, None))}, [], "features in row 4"),
    "constant main": ({"main.csv": frame(MAIN.with_columns(pl.lit(1.0).alias("score")))}, [], "All scores of main"),
    "labels for unknown ids": (
        {"labels.csv": frame(LABELS.with_columns(("q" + pl.col("id")).alias("id")))},
        ["--labels", "labels.csv"],
        "20 labels are for ids that main does not have",
    ),
    "labels all equal": (
        {"labels.csv": frame(LABELS.with_columns(pl.lit(1).alias("label")))},
        ["--labels", "labels.csv"],
        "all equal",
    ),
    "labels with other columns": (
        {"labels.csv": frame(LABELS.rename({"label": "grade"}))},
        ["--labels", "labels.csv"],
        "id and label, or better and worse",
    ),
    "text among labels": (
        {"labels.csv": text("id,label\nm1,1\nm2,high\n")},
        ["--labels", "labels.csv"],
        "numbers",
    ),
    "labels that contradict": (
        {"labels.csv": text("better,worse\nm1,m2\nm2,m1\n")},
        ["--labels", "labels.csv"],
        "both above and below",
    ),
    "text among scores": ({"main.csv": text("id,score,x\na,1,2\nb,high,3\n")}, [], "'score' of main.csv holds 'high'"),
    "text among features": ({"main.csv": text("id,score,x\na,1,2\nb,2,wide\n")}, [], "'x' of main.csv holds 'wide'"),
    "an empty file": ({"main.csv": text("")}, [], "main.csv is empty"),
    "a header alone": ({"main.csv": text("id,score,x\n")}, [], "main is empty"),
    "no Parquet": ({"main.parquet": text("not parquet at all")}, [], "cannot be read as parquet"),
    "no archive": ({"main.npz": text("not an archive")}, [], "NumPy archive"),
    "half an archive": ({"main.npz": binary(b"PK\x03\x04" + b"\x00" * 60)}, [], "NumPy archive"),
    "an archive without scores": ({"main.npz": archive(ids=np.arange(3))}, [], "has no 'scores'"),
    "an archive of objects": (
        {"main.npz": archive(ids=np.array([{}], dtype=object), scores=np.ones(1))},
        [],
        "archive",
    ),
    "a column missing": ({"main.csv": frame(MAIN.drop("score"))}, [], "has no 'score' (it has: id, x0"),
    "an unknown ending": ({"main.xlsx": text("?")}, [], "ends in '.xlsx'"),
    "a file missing": ({}, ["--reference", "elsewhere.csv"], "elsewhere.csv is not there"),
    "a reference equal to the main table": ({"reference.csv": frame(MAIN)}, [], "is the main table itself"),
    "features missing": ({"reference.csv": frame(REFERENCE.select("id", "score"))}, [], "came without features"),
    "features all equal": (
        {"main.csv": frame(MAIN.select("id", "score").with_columns(pl.lit(2.0).alias("x")))},
        [],
        "All feature rows of main are equal",
    ),
    "features of another length": (
        {"f.npy": lambda path: np.save(path, np.ones((7, 2)))},
        "main.csv::f.npy",
        "7 feature rows",
    ),
    "features that are no array": ({"f.npy": text("no array")}, "main.csv::f.npy", "cannot be read as a NumPy array"),
    "no feature column chosen": ({}, ["--features", "nothing"], "No column of main.csv matches"),
    "no regular expression": ({}, ["--features", "["], "is no regular expression"),
    "an unknown task": ({}, ["--task", "sorting"], "'ranking' or 'regression' were expected"),
    "an unknown output ending": ({}, ["--out", "out.docx"], "ends in '.docx'"),
    "an output folder missing": ({}, ["--out", "nowhere/out.csv"], "The folder nowhere is not there"),
    "a report of another kind": ({}, ["--report", "page.pdf"], "ends in '.pdf', but reports end in .html"),
    "a report folder missing": ({}, ["--report", "nowhere/page.html"], "The folder nowhere is not there"),
    "references of one name": ({}, ["--reference", "reference.csv"], "a name of its own"),
    "pairs without columns": ({"p.csv": text("a,b\n1,2\n")}, ["--pairs", "p.csv"], "has no column 'main'"),
    "pairs of unknown ids": ({"p.csv": text("main,reference\nm1,zz\n")}, ["--pairs", "p.csv"], "names 'zz'"),
    "a row paired twice": ({"p.csv": text("main,reference\nm1,r50\nm1,r51\n")}, ["--pairs", "p.csv"], "twice"),
    "features that are an archive": ({"f.npz": archive(x=np.ones(3))}, "main.csv::f.npz", "come as .npy"),
    "features chosen in an archive": (
        {"main.npz": archive(ids=np.arange(9), scores=np.arange(9.0))},
        ["--features", "x"],
        "is an archive",
    ),
    "a name too long": ({}, ["--reference", "r" * 300 + ".csv"], "cannot be looked at"),
    "labels in an archive": ({"l.npz": archive(ids=np.arange(3))}, ["--labels", "l.npz"], "or .npz for scores"),
    "no encoding": ({"main.csv": binary(b"id,score,x\n\xff\xfe,1,2\n")}, [], "cannot be read as csv"),
    "rows of different length": ({"main.csv": text("id,score,x\na,1,2\nb,1,2,3,4\n")}, [], "cannot be read as csv"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    MAIN.write_csv(tmp_path / "main.csv")
    REFERENCE.write_csv(tmp_path / "reference.csv")
    LABELS.write_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refuse(arguments, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code, capsys.readouterr()


@pytest.mark.parametrize("name", CASES)
def test_each_is_refused_in_one_sentence(name, folder, monkeypatch, capsys):
    files, more, says = CASES[name]
    for file, write in files.items():
        write(folder / file)
    main = more if isinstance(more, str) else next((f for f in files if f.startswith("main")), "main.csv")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    options = [] if isinstance(more, str) else more
    arguments = ["refine", main, "--reference", "reference.csv", "--out", "out.csv", *options]
    status, output = refuse(arguments, monkeypatch, capsys)
    assert status == 2
    assert output.out == ""
    sentence = " ".join(output.err.split())
    assert says in sentence
    assert sentence.startswith("manifuse: ")
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "arguments", [["refine"], ["refine", "main.csv"], ["reform"], ["refine", "main.csv", "--seed", "x"]]
)
def test_arguments_that_do_not_parse_leave_with_status_two(arguments, folder, monkeypatch, capsys):
    assert refuse(arguments, monkeypatch, capsys)[0] == 2


def test_few_pairs_and_a_constant_reference_warn_and_go_on(folder):
    few = draw(0, rows=60, pairs=6, references=1)
    table(few.main).write_csv("main.csv")
    table(few.references[0]).write_csv("reference.csv")
    table(remade(few.references[0], predictions=np.ones(60))).write_csv("constant.csv")
    files = ["main.csv", "--reference", "reference.csv", "--reference", "constant.csv"]
    command = [sys.executable, "-m", "manifuse.cli", "refine", *files, "--out", "out.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    message = " ".join(done.stderr.split())
    assert "shares only 6 ids" in message
    assert "All scores of constant are equal; it gets weight 0." in message
    assert (folder / "out.csv").exists()


def test_a_write_that_breaks_off_leaves_the_old_file_and_no_other(folder):
    from manifuse.files import write_whole

    (folder / "out.csv").write_text("precious")

    def broken(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(app.InputError, match="No space left on device"):
        write_whole(folder / "out.csv", broken)
    assert (folder / "out.csv").read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == ["labels.csv", "main.csv", "out.csv", "reference.csv"]


def test_a_table_replaces_the_old_one_in_one_move(folder):
    from manifuse.cli.tables import write_table

    os.link(folder / "main.csv", folder / "kept.csv")
    write_table(folder / "main.csv", {"id": np.array(["a"])})
    # Written in place, the other name of the old file would show the new content.
    assert pl.read_csv(folder / "kept.csv").height == 60
    assert pl.read_csv(folder / "main.csv").height == 1


def test_without_polars_the_sentence_says_how_to_get_it(folder, monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    status, output = refuse(
        ["refine", "main.csv", "--reference", "reference.csv", "--out", "o.csv"], monkeypatch, capsys
    )
    assert status == 2
    assert "pip install 'manifuse[tables]'" in " ".join(output.err.split())


def test_help_and_version_answer(monkeypatch, capsys):
    import manifuse

    status, (said, _) = refuse(["--version"], monkeypatch, capsys)
    assert (status, said.partition("\n")[0]) == (0, f"manifuse {manifuse.__version__}")
    assert f"numpy {np.__version__}" in said.splitlines()
    for command in ("refine", "demo"):
        status, output = refuse([command, "--help"], monkeypatch, capsys)
        assert status == 0
        assert "Usage" in output.out
