"""The demo, as the README's first command runs it."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app
from manifuse.report.demonstration import (
    REFINED,
    SHOWN,
    SHOWN_OF_CLASSES,
    SMOOTHED,
    TAUGHT,
    UNLABELLED,
    accuracies_of_classifier,
    scores_of,
)


def demo(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["manifuse", "demo", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code, capsys.readouterr()


def test_a_demo_that_is_no_page_is_refused_before_any_work(tmp_path, monkeypatch, capsys):
    status, output = demo(monkeypatch, capsys, "--out", tmp_path / "d.pdf")
    assert status == 2
    assert "ends in '.pdf', but reports end in .html; name it so." in " ".join(output.err.split())
    assert not (tmp_path / "d.pdf").exists()


def test_the_demo_prints_its_tables_and_writes_a_report(tmp_path, monkeypatch, capsys):
    status, output = demo(monkeypatch, capsys, "--out", tmp_path / "page.html")
    assert status == 0
    for word in (*SHOWN, "fidelity: how well", "The best single predictor has"):
        assert word in output.out
    lines = re.findall(r"^(\w+)" + r" +(\d\d\.\d)%" * len(SHOWN) + "$", output.out, re.MULTILINE)
    accuracies = {name: dict(zip(SHOWN, map(float, numbers), strict=True)) for name, *numbers in lines}
    mean = accuracies.pop("mean")
    assert len(accuracies) == 6
    # References on other rows make every ranker better, and more so than its own graph does.
    assert all(of["refined"] > of["alone"] for of in accuracies.values())
    assert mean["refined"] > mean["labels, no references"] > mean["self-smoothed"] > mean["alone"]
    assert mean["refined, no labels"] > mean["alone"] + 3
    line = re.search("^left halves" + r" +(\d\d\.\d)%" * len(SHOWN_OF_CLASSES) + "$", output.out, re.MULTILINE)
    classes = dict(zip(SHOWN_OF_CLASSES, map(float, line.groups()), strict=True))
    assert classes["refined"] > classes["labels, no references"] > classes["alone"] + 5
    assert classes["refined, no labels"] > classes["alone"] + 5
    most = max(accuracies, key=lambda name: accuracies[name]["refined"] - accuracies[name]["labels, no references"])
    assert f"What each reference is worth to {most}, to which references add most" in output.out
    assert f"page.html is the report on {most}." in output.out
    assert f"The scores of “{most}” were refined" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--dataset", "hw"], "No such option: --dataset"),
        (["--out", "nowhere/page.html"], "The folder nowhere is not there"),
    ],
)
def test_what_cannot_be_shown_is_refused(arguments, says, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    status, output = demo(monkeypatch, capsys, *arguments)
    assert status == 2
    assert says in " ".join(output.err.split())
    assert not list(tmp_path.iterdir())


def test_each_column_is_what_its_heading_says():
    example = draw(3)
    main, labels = example.main, example.labels()
    scores, result = scores_of(SimpleNamespace(main=main, references=example.references, labels=labels), 3)
    assert scores.keys() == set(SHOWN)
    np.testing.assert_array_equal(scores[TAUGHT], mf.refine(main, [], labels, rng=3).scores)
    np.testing.assert_array_equal(scores[UNLABELLED], mf.refine(main, example.references, rng=3).scores)
    np.testing.assert_array_equal(scores[SMOOTHED], mf.rivals.smooth_alone(main, labels=labels, rng=3))
    np.testing.assert_array_equal(scores[REFINED], result.scores)
    halves = mf.datasets.load_digit_halves(labels=100, seed=3)
    found = accuracies_of_classifier(3)
    assert tuple(found) == SHOWN_OF_CLASSES
    assert found["labels, no references"] == halves.accuracy(
        mf.refine(halves.main, [], halves.labels, rng=3).predictions
    )
    assert found["refined, no labels"] == halves.accuracy(mf.refine(halves.main, halves.references, rng=3).predictions)
