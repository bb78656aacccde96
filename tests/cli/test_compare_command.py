"""``manifuse compare``: what `rivals.compare` says of the tables in files."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import manifuse as mf
from manifuse.cli.app import app, main
from manifuse.cli.compare_command import best_of_others, grid_of, meanings_of, note_on_pairs
from manifuse.rivals import comparison


@pytest.fixture
def files(tmp_path):
    clinics = mf.datasets.load_clinics(labels=60)
    for name, table in (("ours", clinics.main), ("theirs", clinics.references[0])):
        columns = {f"x{place}": column for place, column in enumerate(table.table.T)}
        pl.DataFrame({"id": table.keys.tolist(), "score": table.scores} | columns).write_csv(tmp_path / f"{name}.csv")
    known = {"id": clinics.labels.keys.tolist(), "label": clinics.labels.grades}
    pl.DataFrame(known).write_csv(tmp_path / "known.csv")
    return clinics, tmp_path


def command(folder, *more):
    return ["compare", str(folder / "ours.csv"), "--reference", str(folder / "theirs.csv"), *more]


def test_it_says_what_python_says(files, monkeypatch):
    clinics, folder = files
    # The other methods are fitted by the tests of the rivals; here they would be fitted three times over.
    every = comparison._methods
    monkeypatch.setattr(
        comparison,
        "_methods",
        lambda *given, **more: {name: every(*given, **more)[name] for name in ("refine", "alone")},
    )
    labels = ["--labels", str(folder / "known.csv")]
    run = CliRunner().invoke(app, command(folder, *labels, "--json"))
    assert run.exit_code == 0
    expected = mf.rivals.compare(clinics.main, clinics.references, clinics.labels, 0)
    assert json.loads(run.stdout)["warnings"] == []
    said = pl.DataFrame(json.loads(run.stdout)["methods"])
    assert said["method"].to_list() == expected["method"].to_list()
    for name in ("accuracy", "minus_refine", "standard_error"):
        assert said[name].to_list() == pytest.approx(expected[name].to_list(), abs=1e-9)
    table = CliRunner().invoke(app, command(folder, *labels)).stdout
    assert [line.split("  ")[0] for line in table.splitlines()[2:4]] == expected["method"].to_list()
    assert f"{expected['accuracy'][0]:.1%}" in table
    ahead = "behind" if expected["method"][0] == "refine" else "ahead of"
    alone = expected.row(by_predicate=pl.col("method") == "alone", named=True)
    size, error = 100 * abs(alone["minus_refine"]), 100 * alone["standard_error"]
    assert f"The best of the others is alone, {size:.1f} ± {error:.1f} points {ahead} refine" in table


def test_it_says_what_each_method_does():
    names = (
        "refine",
        "alone",
        "smooth_alone",
        "learn_from_labels",
        "spread",
        "impute_and_average",
        "impute_and_stack",
    )
    said = dict(
        line.split(": ", 1)
        for line in meanings_of([{"method": name} for name in names]).replace("\n  ", " ").splitlines()
    )
    assert said.keys() == {*names} - {"refine"}
    assert said["spread"].startswith("Spread the labels over the graph of the own features")
    assert all(meaning.endswith(".") and "`" not in meaning for meaning in said.values())


def test_it_says_why_refine_reports_other_gains_if_there_are_references():
    (said,) = note_on_pairs([{"method": "refine"}, {"method": "impute_and_average"}])
    assert said.startswith("Here, a labelled row that is also a common row is judged with the reference's")
    assert note_on_pairs([{"method": "refine"}, {"method": "spread"}]) == []


def test_a_config_has_what_options_lack(files, monkeypatch):
    """Hyperparameters of `refine`, and the scale of scores."""
    clinics, folder = files
    given = []

    def refined(main, references, labels, method, seed):
        given.append((main.scale, method.same_target, method.diffusion.rounds))
        return type("Result", (), {"scores": main.scores})

    monkeypatch.setattr(comparison, "refine", refined)
    for name in ("spread", "smooth_alone", "learn_from_labels"):
        monkeypatch.setattr(comparison, name, lambda main, *given, **more: main.scores)
    monkeypatch.setattr(comparison, "imputed_scores", lambda main, *given: main.scores[:, None])
    monkeypatch.setattr(comparison, "stacked_scores", lambda main, *given: main.scores)
    config = 'scale = "probability"\n[method]\nsame_target = true\n[method.diffusion]\nrounds = 2\n'
    (folder / "run.toml").write_text(config)
    ours = pl.read_csv(folder / "ours.csv")
    ours.with_columns((1.0 / (1.0 + (-pl.col("score")).exp())).alias("score")).write_csv(folder / "ours.csv")
    more = ("--labels", str(folder / "known.csv"), "--config", str(folder / "run.toml"))
    assert CliRunner().invoke(app, command(folder, *more)).exit_code == 0
    assert given == [("probability", True, 2)] * 5
    mf.rivals.compare(clinics.main, [], clinics.labels, same_target=False)
    assert given[5:] == [("score", False, mf.JointDiffusion().diffusion.rounds)] * 5
    with pytest.raises(mf.InputError, match="There is no hyperparameter named 'sametarget'"):
        mf.rivals.compare(clinics.main, [], clinics.labels, sametarget=False)


@pytest.mark.parametrize(
    "difference, said",
    [
        (0.0, "level with refine."),
        (-2.0, "2.000 ± 0.500 ahead of refine."),
        (0.9, "0.900 ± 0.500 behind refine; that could be chance."),
    ],
)
def test_the_best_of_the_others_is_named(difference, said):
    """Of errors, less is better."""
    rows = [
        {"method": name, "rmse": 4.0 + gap, "minus_refine": gap, "standard_error": 0.5 if gap else 0.0}
        for name, gap in (("refine", 0.0), ("alone", difference), ("spread", 3.0))
    ]
    rows.sort(key=lambda row: row["rmse"])
    assert best_of_others(rows) == f"The best of the others is alone, {said}"
    # One number of decimals in a column.
    assert {len(line[1].partition(".")[2]) for line in grid_of(rows).body} == {3}


@pytest.mark.parametrize(
    "known, says",
    [
        (
            "id,label\n{}".format("".join(f"{{0[{k}]}},{int(k == 0)}\n" for k in range(60))),
            "All labels but those of one fold are equal; give more labels of each value.",
        ),
        (
            "better,worse\n{0[0]},{0[1]}\n",
            "Ordered pairs came, but comparing needs a label for each row; give ids and labels.",
        ),
    ],
    ids=["one value outside of a fold", "ordered pairs"],
)
def test_labels_that_judge_nothing_are_refused_with_what_to_do(known, says, files, monkeypatch, capsys):
    clinics, folder = files
    (folder / "known.csv").write_text(known.format(clinics.labels.keys))
    monkeypatch.setattr("sys.argv", ["manifuse", *command(folder, "--labels", str(folder / "known.csv"))])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_without_labels_nothing_can_be_compared(files, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["manifuse", *command(files[1])])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "--labels is missing" in capsys.readouterr().err
