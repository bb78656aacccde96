"""``manifuse refine`` as a user runs it: input files, output files, and an exit status."""

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app


def frame(table):
    features = {} if table.table is None else {f"x{k}": column for k, column in enumerate(table.table.T)}
    return pl.DataFrame({"id": table.keys, "score": table.scores, **features})


@pytest.fixture
def case():
    return draw(0)


@pytest.fixture
def folder(case, tmp_path, monkeypatch):
    """The folder where the command is run, with a main table, two references and labels as CSV."""
    monkeypatch.chdir(tmp_path)
    frame(case.main).write_csv(tmp_path / "main.csv")
    for k, reference in enumerate(case.references):
        frame(reference).write_csv(tmp_path / f"reference{k}.csv")
    labels = case.labels()
    pl.DataFrame({"id": labels.keys, "label": labels.grades}).write_csv(tmp_path / "labels.csv")
    return tmp_path


@dataclass(frozen=True)
class Done:
    """The exit status and output of a command."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """Runs the command line in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["manifuse", "refine", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            app.main()
        return Done(int(left.value.code or 0), *capsys.readouterr())

    return run


FILES = ("main.csv", "--reference", "reference0.csv", "--reference", "reference1.csv")


def test_the_output_is_the_librarys(case, folder, run):
    done = run(*FILES, "--labels", "labels.csv", "--out", "out.csv", "--json")
    assert done.returncode == 0, done.stderr
    out = pl.read_csv(folder / "out.csv")
    assert out.columns == ["id", "score", "original", "support", "uncertainty"]
    names = [
        mf.Observations(r.scores, r.table, ids=r.keys, name=f"reference{k}") for k, r in enumerate(case.references)
    ]
    result = mf.refine(case.main, names, case.labels(), rng=0)
    np.testing.assert_allclose(out["score"], result.predictions, atol=1e-9)
    np.testing.assert_allclose(out["original"], case.main.scores, atol=1e-12)
    np.testing.assert_allclose(out["support"], result.support, atol=1e-9)
    np.testing.assert_allclose(out["uncertainty"], result.uncertainty, atol=1e-9)
    summary = json.loads(done.stdout)
    assert summary["accepted"] is result.accepted
    assert summary["accuracy"]["after"] == result.accuracy.after
    assert [entry["name"] for entry in summary["references"]] == ["reference0", "reference1"]
    keys = {"name", "alignment", "held_out_alignment", "chance_alignment", "weight", "reached"}
    assert keys <= set(summary["references"][0])
    assert {"reason", "hyperparameters", "rows", "seconds", "version", "seed"} <= set(summary)
    assert summary["worth"] == pytest.approx(vars(result.worth))
    for entry, found in zip(summary["references"], result.relevance, strict=True):
        assert entry["worth"] == pytest.approx(vars(found.worth))
    assert summary["agreement"]["answer"] == result.evidence.agreement.answer.name
    assert summary["agreement"]["loadings"] == pytest.approx(result.evidence.agreement.loadings)


@pytest.mark.filterwarnings("ignore:Features are taken in the order:manifuse.ManifuseWarning")
def test_without_references_labels_are_enough(case, folder, run):
    done = run("main.csv", "--labels", "labels.csv", "--out", "out.csv", "--json", "--save", "model.npz")
    assert done.returncode == 0, done.stderr
    result = mf.refine(case.main, [], case.labels(), rng=0)
    assert result.accepted
    np.testing.assert_allclose(pl.read_csv("out.csv")["score"], result.predictions, atol=1e-9)
    summary = json.loads(done.stdout)
    assert summary["references"] == []
    assert summary["worth"] is None
    # Without references there is nothing to compare, and JSON has no NaN.
    assert summary["agreement"]["gain"] is None
    np.testing.assert_allclose(mf.load("model.npz").apply(case.main), result.predictions, atol=1e-9)


def test_with_neither_references_nor_labels_it_is_refused(folder, run):
    done = run("main.csv", "--out", "out.csv")
    assert done.returncode == 2
    assert done.stderr.startswith("manifuse: Neither references nor labels came; give --reference or --labels")
    assert not list(folder.glob("out.*"))


def test_references_that_predict_something_else_are_used_if_the_user_says_so(case, folder, run):
    done = run(*FILES, "--out", "out.csv", "--json")
    asked = json.loads(done.stdout)["agreement"]["answer"]
    done = run(*FILES, "--same-target", "--out", "out.csv", "--json")
    assert (asked, json.loads(done.stdout)["agreement"]["answer"]) == ("ASSUMED", "TOLD")
    assert "uncertainty" not in pl.read_csv("out.csv").columns


def test_the_result_goes_to_standard_output_and_what_was_read_to_standard_error(folder, run):
    done = run(*FILES, "--out", "out.parquet", "--save", "model.npz")
    assert done.returncode == 0
    saved = mf.load("model.npz")
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["main", "reference0", "reference1"]
    assert (
        done.stdout == f"{saved.summary()}\n\n160 rows written to out.parquet.\nFor later rows there is model.npz.\n"
    )
    assert pl.read_parquet(folder / "out.parquet").height == 160


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "npz"])
def test_every_format_gives_the_same_result(case, folder, ending, run):
    def write(table, stem):
        path = folder / f"{stem}.{ending}"
        if ending == "npz":
            np.savez(path, ids=table.keys, scores=table.scores, features=table.table)
        else:
            writers = {"parquet": "write_parquet", "arrow": "write_ipc", "jsonl": "write_ndjson"}
            getattr(frame(table), writers[ending])(path)
        return path.name

    main, *others = (
        write(t, s) for t, s in zip((case.main, *case.references), ("main", "reference0", "reference1"), strict=True)
    )
    options = [option for other in others for option in ("--reference", other)]
    assert run(main, *options, "--out", f"out.{ending}").returncode == 0
    assert run(*FILES, "--out", "plain.csv").returncode == 0
    expected = pl.read_csv(folder / "plain.csv")["score"]
    if ending == "npz":
        with np.load(folder / "out.npz", allow_pickle=False) as archive:
            score = archive["score"]
            assert archive["id"].tolist() == case.main.keys.tolist()
    else:
        readers = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "jsonl": pl.read_ndjson}
        score = readers[ending](folder / f"out.{ending}")["score"]
    np.testing.assert_allclose(score, expected, atol=1e-9)


def test_features_may_come_from_another_file(case, folder, run):
    frame(case.main).select("id", "score").write_csv(folder / "bare.csv")
    np.save(folder / "bare.npy", case.main.table)
    done = run("bare.csv::bare.npy", *FILES[1:], "--out", "out.csv")
    assert done.returncode == 0, done.stderr
    assert run(*FILES, "--out", "plain.csv").returncode == 0
    np.testing.assert_allclose(pl.read_csv(folder / "out.csv")["score"], pl.read_csv(folder / "plain.csv")["score"])


def test_feature_columns_can_be_chosen(case, folder, run):
    for name in ("main", "reference0", "reference1"):
        table = pl.read_csv(folder / f"{name}.csv", schema_overrides={"id": pl.String})
        table.with_columns(pl.lit("somewhere").alias("city")).write_csv(folder / f"{name}.csv")
    refused = run(*FILES, "--out", "out.csv")
    assert refused.returncode == 2
    assert "'city'" in refused.stderr
    assert run(*FILES, "--features", "x[0-9]", "--out", "out.csv").returncode == 0


def test_ids_keep_their_zeros(folder, run):
    for name in ("main", "reference0", "reference1"):
        table = pl.read_csv(folder / f"{name}.csv")
        ids = pl.Series("id", [key.replace("m", "00").replace("r", "11") for key in table["id"]])
        table.with_columns(ids).write_csv(folder / f"{name}.csv")
    assert run(*FILES, "--out", "out.csv").returncode == 0
    assert (folder / "out.csv").read_text().splitlines()[1].startswith("000,")


def test_tables_whose_ids_differ_are_paired_by_a_file(case, folder, run):
    lines = []
    for k, reference in enumerate(case.references):
        renamed = [f"theirs {row}" for row in range(160)]
        frame(reference).with_columns(pl.Series("id", renamed)).write_csv(folder / f"reference{k}.csv")
        lines += [
            {"main": key, "reference": renamed[row], "table": f"reference{k}"}
            for row, key in enumerate(reference.keys)
            if key.startswith("m")
        ]
    pl.DataFrame(lines).write_csv(folder / "pairs.csv")
    assert run(*FILES, "--out", "out.csv").returncode == 2
    done = run(*FILES, "--pairs", "pairs.csv", "--out", "out.csv")
    assert done.returncode == 0, done.stderr
    expected = mf.refine(case.main, case.references, rng=0).predictions
    np.testing.assert_allclose(pl.read_csv(folder / "out.csv")["score"], expected, atol=1e-9)


def test_regression_labels_and_ordered_pairs(case, folder, run):
    done = run(*FILES, "--labels", "labels.csv", "--task", "regression", "--out", "out.csv", "--json")
    assert json.loads(done.stdout)["accuracy"]["measure"] == "rmse"
    order = np.argsort(case.truth[case.labelled])
    rows = case.labelled[order]
    pairs = {"better": case.main.keys[rows[30:]], "worse": case.main.keys[rows[:30]]}
    pl.DataFrame(pairs).write_csv(folder / "ordered.csv")
    done = run(*FILES, "--labels", "ordered.csv", "--out", "out.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["accuracy"]["measure"] == "accuracy"


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_invalid_rows_can_be_dropped(case, folder, run):
    table = frame(case.main).with_columns(
        pl.when(pl.int_range(160) == 3).then(None).otherwise(pl.col("x1")).alias("x1")
    )
    table.write_csv(folder / "main.csv")
    refused = run(*FILES, "--out", "out.csv")
    assert refused.returncode == 2
    assert "line 5" in refused.stderr
    done = run(*FILES, "--drop-invalid", "--out", "out.csv", "--report", "report.html")
    assert done.returncode == 0
    page = (folder / "report.html").read_text()
    assert (
        "Those with numbers that are missing or infinite were left out, and this page describes the other 159." in page
    )
    assert "main has values that are not finite in 1 of 160 rows, which are left out." in " ".join(done.stderr.split())
    assert "m3" not in pl.read_csv(folder / "out.csv")["id"].to_list()


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_rows_without_a_label_are_rows_whose_truth_is_not_known(folder, run):
    labels = pl.read_csv("labels.csv")
    blank = pl.when(pl.int_range(pl.len()) == 2).then(None).otherwise(pl.col("label")).alias("label")
    labels.with_columns(blank).write_csv("blank.csv")
    labels.filter(pl.int_range(pl.len()) != 2).write_csv("fewer.csv")
    for name in ("blank", "fewer"):
        done = run(*FILES, "--labels", f"{name}.csv", "--out", f"{name}-out.csv")
        assert done.returncode == 0, done.stderr
    assert (folder / "blank-out.csv").read_bytes() == (folder / "fewer-out.csv").read_bytes()


def test_what_is_called_like_the_labels_is_no_feature(folder, run):
    main, labels = pl.read_csv("main.csv"), pl.read_csv("labels.csv")
    plain = run(*FILES, "--labels", "labels.csv", "--out", "plain.csv")
    assert plain.returncode == 0, plain.stderr
    labels = labels.with_columns(pl.col("id").cast(main.schema["id"]))
    for called, options in (("label", ()), ("truth of it", ("--label", "truth of it"))):
        whole = main.join(labels, on="id", how="left").rename({"label": called})
        whole.write_csv("main.csv")
        done = run(*FILES, "--labels", "main.csv", *options, "--out", "whole.csv")
        assert done.returncode == 0, done.stderr
        assert (folder / "whole.csv").read_bytes() == (folder / "plain.csv").read_bytes()


def test_the_same_seed_writes_the_same_bytes(folder, run):
    arguments = (*FILES, "--labels", "labels.csv", "--config", "seed.toml", "--out")
    (folder / "seed.toml").write_text("seed = 5\n")
    assert run(*arguments, "one.csv").returncode == 0
    # Also in its own process, as a user runs it.
    subprocess.run([sys.executable, "-m", "manifuse", "refine", *arguments, "two.csv"], check=True)
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_an_earlier_output_survives_a_refusal(folder, run):
    (folder / "out.csv").write_text("precious")
    assert run("missing.csv", *FILES[1:], "--out", "out.csv").returncode == 2
    assert (folder / "out.csv").read_text() == "precious"


def test_names_of_files_are_not_patterns(case, folder, run):
    (folder / "reference0.csv").rename(folder / "reference[01].csv")
    (folder / "out[x]").mkdir()
    done = run("main.csv", "--reference", "reference[01].csv", "--out", "out[x]/out.NPZ")
    assert done.returncode == 0, done.stderr
    assert "rows written to out[x]/out.NPZ.\n" in done.stdout
    assert {path.name for path in (folder / "out[x]").iterdir()} == {"out.NPZ", "out.run.toml"}
    with np.load(folder / "out[x]" / "out.NPZ", allow_pickle=False) as archive:
        expected = mf.refine(case.main, case.references[:1], rng=0).predictions
        np.testing.assert_allclose(archive["score"], expected, atol=1e-9)


def test_files_with_the_same_name_are_named_by_their_paths(folder, run):
    for k in range(2):
        (folder / str(k)).mkdir()
        (folder / f"reference{k}.csv").rename(folder / str(k) / "scores.csv")
    files = ("main.csv", "--reference", "0/scores.csv", "--reference", "1/scores.csv")
    done = run(*files, "--out", "out.csv", "--json")
    assert [entry["name"] for entry in json.loads(done.stdout)["references"]] == ["0/scores.csv", "1/scores.csv"]


def test_ids_of_bytes_and_numbers_with_blanks_or_decimals_are_read(case, folder, run):
    np.savez(folder / "main.npz", ids=case.main.keys.astype("S"), scores=case.main.scores, features=case.main.table)
    table = frame(case.references[0])
    table.with_columns(pl.col("x0").cast(pl.Decimal(20, 12)), pl.lit(True).alias("x5")).write_parquet(
        folder / "r.parquet"
    )
    blanks = [line.replace(",", ", ") for line in frame(case.references[1]).write_csv().splitlines()]
    (folder / "blank.csv").write_text("\n".join([blanks[0].replace(", ", ","), *blanks[1:]]))
    done = run("main.npz", "--reference", "r.parquet", "--reference", "blank.csv", "--out", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert pl.read_ndjson(folder / "out.jsonl")["id"].to_list() == case.main.keys.tolist()
