"""Large tables in files: folders of Parquet, windows of rows, samples that are read first."""

import errno
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app
from manifuse.run import engine as engine_module
from manifuse.run import file_runs as files_module
from manifuse.run import later_files
from manifuse.tables import column_file
from manifuse.tables import output as output_module

WINDOW = 150


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A main table of 600 rows, as a file and as a folder of three; a reference; labels; a config with a sample."""
    monkeypatch.chdir(tmp_path)
    case = draw(0, rows=600, pairs=60, references=1)
    for name, table in (("main", case.main), ("theirs", case.references[0])):
        frame_of(table).write_parquet(f"{name}.parquet")
        frame_of(table).write_csv(f"{name}.csv")
    Path("parts").mkdir()
    for number, part in enumerate(pl.read_parquet("main.parquet").iter_slices(200)):
        part.write_parquet(f"parts/{number}.parquet")
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_parquet("known.parquet")
    Path("run.toml").write_text("[method]\nfitted_rows = 300\n")
    monkeypatch.setattr(later_files, "WINDOW", WINDOW)
    monkeypatch.setattr(files_module, "WINDOW", WINDOW)
    return case


def frame_of(table):
    return pl.DataFrame({"id": table.keys, "score": table.scores, **{f"x{k}": c for k, c in enumerate(table.table.T)}})


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *arguments])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr()
    return 0, capsys.readouterr()


REFINE = (
    "refine",
    "main.parquet",
    "--reference",
    "theirs.parquet",
    "--labels",
    "known.parquet",
    "--config",
    "run.toml",
)


#: What `fit` saved.
SAVED = []


def fit(capsys, monkeypatch):
    """Refine the tables of the folder and save model.npz, once for all tests."""
    if not SAVED:
        assert run(capsys, monkeypatch, *REFINE, "--out", "fit.parquet", "--save", "model.npz")[0] == 0
        SAVED.append(Path("model.npz").read_bytes())
    Path("model.npz").write_bytes(SAVED[0])


@pytest.mark.parametrize("main, ending", [("main.parquet", "csv"), ("main.csv", "parquet"), ("parts", "parquet")])
def test_the_files_give_what_the_library_gives_of_the_same_tables(folder, capsys, monkeypatch, main, ending):
    arguments = ("refine", main, *REFINE[2:], "--out", f"out.{ending}", "--save", "model.npz", "--json")
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 0, said.err
    facts = json.loads(said.out)
    assert (facts["rows"], facts["fitted"]) == (600, 300)
    result = mf.refine(folder.main, folder.references, folder.labels(), mf.JointDiffusion(fitted_rows=300), rng=0)
    out = pl.read_parquet("out.parquet") if ending == "parquet" else pl.read_csv("out.csv")
    assert out["id"].to_list() == folder.main.keys.tolist()
    assert mf.load("model.npz").method.fitted_rows == 300
    for column, values in {
        "score": result.scores,
        "support": result.support,
        "uncertainty": result.uncertainty,
    }.items():
        np.testing.assert_allclose(out[column], values, rtol=0 if ending == "parquet" else 1e-12)
    done, said = run(capsys, monkeypatch, "apply", "model.npz", main, "--out", "again.parquet")
    assert done == 0, said.err
    again = pl.read_parquet("again.parquet")
    np.testing.assert_array_equal(again["score"], result.scores)
    method, out = mf.JointDiffusion(fitted_rows=300), f"python.{ending}"
    found = mf.refine_files(main, "theirs.parquet", "known.parquet", method, rng=0, out=out)
    assert Path(out).read_bytes() == Path(f"out.{ending}").read_bytes()
    assert mf.apply_files(found, main, "python again.parquet") == 600
    assert Path("python again.parquet").read_bytes() == Path("again.parquet").read_bytes()
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_features_that_are_not_fitted_are_refined_window_by_window(folder, capsys, monkeypatch):
    reads = []
    take = column_file.ColumnFile.take_matrix

    def counting(self, names, rows=None):
        reads.append((self.rows, None if rows is None else len(rows)))
        return take(self, names, rows)

    monkeypatch.setattr(column_file.ColumnFile, "take_matrix", counting)
    done, said = run(capsys, monkeypatch, *REFINE, "--out", "out.parquet")
    assert done == 0, said.err
    # The first rows of both tables are looked at twice: for row numbers, and with the scores.
    names = [(500, None)] * 4
    # Some rows of both are searched for values far from the rest, and those with labels for features that say these.
    searched = [(600, 600), (600, 600), (600, 60)]
    assert reads == [*names, *searched, (600, 300), (600, 300), *[(WINDOW, None)] * 4]


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("command", ["apply", "engine"])
def test_row_numbers_are_no_features_in_any_window(folder, capsys, monkeypatch, request, command):
    table = pl.read_parquet("main.parquet")
    numbered = table.with_row_index("n")
    numbered.write_parquet("numbered.parquet")
    assert run(capsys, monkeypatch, *REFINE, "--out", "plain.parquet", "--save", "plain.npz")[0] == 0
    done, said = run(
        capsys, monkeypatch, "refine", "numbered.parquet", *REFINE[2:], "--out", "fit.parquet", "--save", "model.npz"
    )
    assert (done, "numbered.parquet has columns that number or name its rows" in " ".join(said.err.split())) == (
        0,
        True,
    )
    assert pl.read_parquet("fit.parquet").equals(pl.read_parquet("plain.parquet"))
    # Rows of the middle do not number the table any more.
    numbered.slice(100, 400).write_parquet("middle.parquet")
    monkeypatch.setattr(later_files, "ROWS", 250)
    engine = ["--engine", request.getfixturevalue("cluster")] if command == "engine" else []
    written = []
    for model, name in (("plain", "main.parquet"), ("model", "numbered.parquet"), ("model", "middle.parquet")):
        out = f"{name.partition('.')[0]}-later" + ("" if engine else ".parquet")
        assert run(capsys, monkeypatch, "apply", f"{model}.npz", name, "--out", out, *engine)[0] == 0
        written.append(pl.read_parquet(f"{out}/*.parquet" if engine else out))
    assert written[1].equals(written[0])
    assert written[2].equals(written[0].slice(100, 400))


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("command", ["apply", "engine"])
def test_a_sorted_table_is_compared_with_the_fitted_rows_as_a_whole(folder, capsys, monkeypatch, request, command):
    """Its windows are not like the fitted rows, but all rows together are; if all have moved, that is said once."""
    fit(capsys, monkeypatch)
    monkeypatch.setattr(later_files, "ROWS", 250)
    monkeypatch.setattr(later_files, "ROWS_OF_LOOK", 10)
    engine = ["--engine", request.getfixturevalue("cluster")] if command == "engine" else []
    later = pl.read_parquet("main.parquet").with_columns(pl.concat_str(pl.lit("later "), "id").alias("id")).sort("x0")
    later.write_parquet("sorted.parquet")
    later.with_columns(pl.col("x0") * 10).write_parquet("moved.parquet")
    for name, status in (("sorted", 0), ("moved", 3)):
        out = name + ("" if engine else "-later.parquet")
        applied = ("apply", "model.npz", f"{name}.parquet", "--out", out, "--strict", "--json", *engine)
        done, said = run(capsys, monkeypatch, *applied)
        assert done == status, said.err
        warned = [each["code"] for each in json.loads(said.out)["warnings"]]
        assert warned == ["strange_columns"] * (name == "moved")


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("command", ["apply", "engine"])
def test_rows_without_numbers_are_left_out_and_counted_once(folder, capsys, monkeypatch, request, command):
    """A window may have no row that is left."""
    fit(capsys, monkeypatch)
    frame, rows = pl.read_parquet("main.parquet"), pl.int_range(600)
    holes = frame.with_columns(pl.when((rows < 300) | (rows == 599)).then(np.nan).otherwise(pl.col("x1")).alias("x1"))
    holes.write_parquet("holes.parquet")
    frame[300:599].write_parquet("left.parquet")
    holes[:300].write_parquet("none.parquet")
    monkeypatch.setattr(later_files, "ROWS", WINDOW)
    engine = ["--engine", request.getfixturevalue("cluster")] if command == "engine" else []
    written = {}
    for name in ("left", "holes", "none"):
        out = f"{name}-later" + ("" if engine else ".parquet")
        done, said = run(
            capsys, monkeypatch, "apply", "model.npz", f"{name}.parquet", "--drop-invalid", "--out", out, *engine
        )
        if name == "none":
            assert (done, Path(out).exists()) == (2, False)
            assert "none has no row whose numbers are all finite" in said.err
        else:
            assert done == 0, said.err
            written[name] = pl.read_parquet(f"{out}/*.parquet" if engine else out)
        if name == "holes":
            assert said.err.count("which are left out") == said.err.count("in 301 of 600 rows") == 1
    assert written["holes"].equals(written["left"])
    # Rows in messages are those of the file, also where others were left out before them.
    blank = pl.when(rows == 500).then(pl.lit(None)).otherwise(pl.col("id")).alias("id")
    hole = pl.when(rows == 460).then(np.nan).otherwise(pl.col("x1")).alias("x1")
    frame.with_columns(blank, hole).write_parquet("blank.parquet")
    out = "blank-later" + ("" if engine else ".parquet")
    done, said = run(
        capsys, monkeypatch, "apply", "model.npz", "blank.parquet", "--drop-invalid", "--out", out, *engine
    )
    assert (done, "has no value in row 500;" in " ".join(said.err.split())) == (2, True), said.err


@pytest.mark.parametrize("command", ["refine", "apply", "engine"])
def test_a_row_that_is_refused_has_its_number_in_the_whole_table(folder, capsys, monkeypatch, request, command):
    fit(capsys, monkeypatch)
    frame = pl.read_parquet("main.parquet")
    paired = frame["id"].is_in(pl.read_parquet("theirs.parquet")["id"].to_list())
    row = next(row for row in range(450, 540) if not paired[row])
    frame.with_columns(x1=pl.when(pl.int_range(600) == row).then(float("nan")).otherwise("x1")).write_parquet(
        "bad.parquet"
    )
    arguments = {
        "refine": ("refine", "bad.parquet", *REFINE[2:], "--out", "out.parquet"),
        "apply": ("apply", "model.npz", "bad.parquet", "--out", "out.parquet"),
        "engine": ("apply", "model.npz", "bad.parquet", "--out", "out", "--engine"),
    }[command]
    if command == "engine":
        arguments += (request.getfixturevalue("cluster"),)
    monkeypatch.setattr(later_files, "ROWS", 250)
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 2
    assert f"bad has NaN or infinite features (x1) in row {row};" in said.err
    assert "Traceback" not in said.err


def test_what_the_library_refuses_of_whole_tables_is_refused_of_files(folder, capsys, monkeypatch):
    pl.read_parquet("main.parquet").reverse().write_parquet("theirs.parquet")
    done, said = run(capsys, monkeypatch, *REFINE, "--out", "out.parquet")
    assert done == 2
    assert "theirs is the main table itself" in said.err


@pytest.mark.parametrize("out", ["parts/3.parquet", "parts/0.parquet", "other/3.parquet"])
def test_an_output_in_an_input_folder_is_refused(folder, capsys, monkeypatch, out):
    Path("other").symlink_to("parts")
    done, said = run(capsys, monkeypatch, "refine", "parts", *REFINE[2:], "--out", out)
    assert done == 2
    assert f"{out} would be a part of the input folder" in said.err


def test_a_folder_that_an_engine_would_write_into_an_input_folder_is_refused(folder, capsys, monkeypatch):
    Path("model.npz").touch()
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "parts", "--out", "parts/out", "--engine", "dask")
    assert (done, "parts/out would be a part of the input folder parts" in said.err) == (2, True)
    assert not Path("parts/out").exists()


def test_a_folder_in_a_folder_and_parts_without_rows_are_refused(folder, capsys, monkeypatch):
    Path("nested/more").mkdir(parents=True)
    done, said = run(capsys, monkeypatch, "refine", "nested", *REFINE[2:], "--out", "out.parquet")
    assert done == 2
    assert "nested has the folder more in it, but a folder of files was expected" in said.err
    Path("hollow").mkdir()
    pl.read_parquet("main.parquet")[:0].write_parquet("hollow/0.PARQUET")
    done, said = run(capsys, monkeypatch, "refine", "hollow", *REFINE[2:], "--out", "out.parquet")
    assert done == 2
    assert "hollow has 0 rows, but at least 3 were expected" in said.err


def other_columns(frame):
    return frame.rename({"x2": "y"})


def other_types(frame):
    return frame.with_columns(pl.col("x1").cast(pl.String))


def same_id(frame):
    first = pl.read_parquet("parts/0.parquet")["id"][0]
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(pl.lit(first)).otherwise("id").alias("id"))


def not_a_number(frame):
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == 3).then(float("nan")).otherwise("x1").alias("x1"))


@pytest.mark.parametrize(
    "change, says",
    [
        (other_columns, "parts/1.parquet lacks x2, unlike parts/0.parquet; give parts with the same columns."),
        (other_types, "Column 'x1' is String in parts/1.parquet, but Float64 in parts/0.parquet; give parts with the"),
        (same_id, "The id column of parts has"),
        (not_a_number, "parts has NaN or infinite features"),
    ],
)
@pytest.mark.parametrize("command", ["refine", "apply"])
@pytest.mark.filterwarnings("ignore:Rows of parts were fitted")
def test_a_folder_of_parts_is_refused_in_one_sentence(folder, capsys, monkeypatch, change, says, command):
    fit(capsys, monkeypatch)
    Path("out.parquet").write_bytes(b"as before")
    change(pl.read_parquet("parts/1.parquet")).write_parquet("parts/1.parquet")
    arguments = ("refine", "parts", *REFINE[2:]) if command == "refine" else ("apply", "model.npz", "parts")
    done, said = run(capsys, monkeypatch, *arguments, "--out", "out.parquet")
    assert done == 2
    assert says in said.err
    assert Path("out.parquet").read_bytes() == b"as before"
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_a_part_without_rows_says_nothing_of_types(folder, capsys, monkeypatch):
    assert run(capsys, monkeypatch, "refine", "parts", *REFINE[2:], "--out", "out.parquet")[0] == 0
    empty = pl.read_parquet("parts/0.parquet")[:0]
    empty.with_columns(pl.all().cast(pl.Null)).write_parquet("parts/00.parquet")
    assert run(capsys, monkeypatch, "refine", "parts", *REFINE[2:], "--out", "again.parquet")[0] == 0
    assert Path("again.parquet").read_bytes() == Path("out.parquet").read_bytes()


@pytest.mark.parametrize("command", ["refine", "apply"])
def test_a_part_that_is_damaged_in_the_middle_is_named(folder, capsys, monkeypatch, command):
    fit(capsys, monkeypatch)
    content = bytearray(Path("parts/1.parquet").read_bytes())
    content[100 : len(content) // 2] = bytes(len(content) // 2 - 100)
    Path("parts/1.parquet").write_bytes(content)
    arguments = ("refine", "parts", *REFINE[2:]) if command == "refine" else ("apply", "model.npz", "parts")
    done, said = run(capsys, monkeypatch, *arguments, "--out", "out.parquet")
    assert done == 2
    assert "parts/1.parquet cannot be read as parquet" in said.err
    assert not Path("out.parquet").exists()


def test_a_folder_without_parquet_and_an_empty_one_are_refused(folder, capsys, monkeypatch):
    Path("empty").mkdir()
    done, said = run(capsys, monkeypatch, "refine", "empty", *REFINE[2:], "--out", "out.parquet")
    assert done == 2
    assert "empty is a folder without files that end in .parquet; give a file, or such a folder." in said.err


def test_pairs_in_no_part_are_refused(folder, capsys, monkeypatch):
    pl.read_parquet("theirs.parquet").with_columns(id="their " + pl.col("id")).write_parquet("theirs.parquet")
    done, said = run(capsys, monkeypatch, "refine", "parts", *REFINE[2:], "--out", "out.parquet")
    assert done == 2
    assert "theirs shares 0 of its" in said.err


@pytest.mark.parametrize("command", ["refine", "apply"])
def test_a_disk_that_fills_up_after_half_of_the_parts_leaves_nothing(folder, capsys, monkeypatch, command):
    fit(capsys, monkeypatch)
    written = []

    def full(ending, columns):
        written.append(ending)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return b"some bytes"

    monkeypatch.setattr(output_module, "table_bytes", full)
    arguments = REFINE if command == "refine" else ("apply", "model.npz", "parts")
    done, said = run(capsys, monkeypatch, *arguments, "--out", "out.parquet")
    assert done == 2
    assert "out.parquet cannot be written (No space left on device); write elsewhere." in said.err
    assert len(written) == 3
    assert not Path("out.parquet").exists()
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_an_interrupt_between_parts_leaves_nothing(folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    applied = mf.Refinement.refine_later
    calls = []

    def interrupted(self, new, **compared):
        calls.append(len(new))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return applied(self, new, **compared)

    monkeypatch.setattr(mf.Refinement, "refine_later", interrupted)
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "parts", "--out", "out.parquet")
    assert done == 130
    assert "Stopped; no unfinished file was written." in said.err
    assert not Path("out.parquet").exists()
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
def test_a_warning_of_many_windows_is_said_once(folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    pl.read_parquet("main.parquet").with_columns(id="later " + pl.col("id"), x1=pl.col("x1") * 100.0).write_parquet(
        "later.parquet"
    )
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "later.parquet", "--out", "out.parquet")
    assert done == 0
    assert said.err.count("differs from the fitted rows in column 'x1'") == 1


def test_on_an_engine_the_parts_are_those_of_one_process(folder, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(later_files, "ROWS", 250)
    fit(capsys, monkeypatch)
    assert run(capsys, monkeypatch, "apply", "model.npz", "parts", "--out", "here.parquet")[0] == 0
    done, said = run(
        capsys, monkeypatch, "apply", "model.npz", "parts", "--out", "there", "--engine", "dask", "--json"
    )
    assert done == 0, said.err
    assert json.loads(said.out)["rows"] == 600
    assert len(list(Path("there").iterdir())) == 3
    assert pl.read_parquet("there/*.parquet").equals(pl.read_parquet("here.parquet"))


@pytest.mark.parametrize(
    "out, engine, says",
    [
        ("full", "dask", "full is there and is not an empty folder; give another name."),
        ("out.parquet", "dask", "out.parquet ends in '.parquet', but an engine writes a folder of files; leave that"),
        ("nowhere/out", "dask", "The folder nowhere is not there"),
        ("out", "spark", "engine='spark' came, but"),
        ("out", "dask://127.0.0.1:9", "No Dask scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_what_an_engine_cannot_do_is_refused(folder, capsys, monkeypatch, out, engine, says):
    pytest.importorskip("distributed")
    monkeypatch.setattr(engine_module, "PATIENCE", 1)
    fit(capsys, monkeypatch)
    Path("full").mkdir()
    Path("full/part").write_text("something")
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "parts", "--out", out, "--engine", engine)
    assert done == 2
    assert says in said.err
    assert not Path("out").exists()
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


def test_a_cluster_without_workers_is_not_waited_for_forever(folder, capsys, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engine_module, "PATIENCE", 2)
    fit(capsys, monkeypatch)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        engine = cluster.scheduler_address.replace("tcp://", "dask://")
        done, said = run(capsys, monkeypatch, "apply", "model.npz", "parts", "--out", "out", "--engine", engine)
    assert done == 1
    assert "The Dask cluster was lost (it has no workers)" in said.err
    assert "Traceback" not in said.err
    assert not Path("out").exists()


def test_the_report_says_that_a_sample_was_fitted(folder, capsys, monkeypatch):
    assert run(capsys, monkeypatch, *REFINE, "--out", "out.parquet", "--report", "page.html")[0] == 0
    page = " ".join(Path("page.html").read_text().split())
    assert "The main table has 600 rows. 300 of them were fitted, and this page" in page


def test_a_sample_that_is_larger_than_was_asked_for_is_not_sampled_again(folder, capsys, monkeypatch):
    """All labelled rows are fitted, so a sample may be larger. Files of either kind have the same one."""
    everything = {"id": folder.main.keys[:400], "label": folder.truth[:400]}
    pl.DataFrame(everything).write_parquet("known.parquet")
    written = []
    for ending in ("parquet", "csv"):
        files = [name.replace(".parquet", f".{ending}") if "known" not in name else name for name in REFINE]
        done, said = run(capsys, monkeypatch, *files, "--out", f"out-{ending}.parquet", "--json")
        assert done == 0, said.err
        written.append(pl.read_parquet(f"out-{ending}.parquet"))
        assert json.loads(said.out)["fitted"] > 400
    np.testing.assert_allclose(written[0]["score"], written[1]["score"], rtol=1e-12)
