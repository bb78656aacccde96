"""Scores that are far from a normal shape count by their order, and come back in their own scale."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, rankdata

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.report.refinement_page import page_of
from manifuse.tables.problem import Reference
from manifuse.tables.straightening import KNOTS, Straightening, straightened

WARPED = {"amounts": lambda z: np.exp(2.0 * z), "risks": lambda z: 1.0 / (1.0 + np.exp(4.0 - z))}


@pytest.fixture
def case():
    """Main scores, two references and the truth, all nearly normal."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((300, 4))
    truth = features[:, 0] + np.tanh(features[:, 1]) + 0.3 * rng.standard_normal(300)
    scores = truth + 1.5 * rng.standard_normal(300)
    pairs = [rng.choice(300, 80, replace=False) for _ in range(2)]
    theirs = [truth[rows] + 0.5 * rng.standard_normal(80) for rows in pairs]
    return scores, features, truth, pairs, theirs


def tables_of(case, warp=lambda scores: scores, rows=slice(None)):
    scores, features, _, pairs, theirs = case
    main = mf.Observations(warp(scores)[rows], features[rows], ids=np.arange(300)[rows], name="ours")
    return main, [
        mf.Observations(warp(each), ids=known, name=f"theirs {number}")
        for number, (known, each) in enumerate(zip(pairs, theirs, strict=True))
    ]


def normal_scores(scores):
    return norm.ppf((rankdata(scores) - 0.5) / len(scores))


@pytest.mark.parametrize("labelled", [False, True])
def test_they_are_refined_as_their_normal_scores_are(case, labelled):
    given = mf.RankLabels(np.arange(60), case[2][:60]) if labelled else None
    expected = mf.refine(*tables_of(case, normal_scores), given, rng=0)
    for warp in WARPED.values():
        found = mf.refine(*tables_of(case, warp), given, rng=0)
        assert found.main.straightening is not None
        assert found.to_dict()["straightened"] is found.relevance["theirs 1"].is_straightened is True
        assert "because a few are far from the others</td><td>“ours”, “theirs 0” and “theirs 1”" in page_of(found)
        assert expected.main.straightening is None
        np.testing.assert_allclose(found.refined.scores, expected.scores, atol=1e-6)
        np.testing.assert_array_equal(rankdata(found.scores), rankdata(expected.scores))
        if given is not None:
            chances = (each.probability(range(100), range(100, 200)) for each in (found, expected))
            np.testing.assert_allclose(*chances, atol=1e-5)
        assert ranking_accuracy(case[2], found.scores) > ranking_accuracy(case[2], case[0]) + 0.03


def test_any_rising_function_of_them_gives_the_same_order(case):
    found = [
        mf.refine(*tables_of(case, warp), rng=0).scores
        for warp in (WARPED["amounts"], lambda z: WARPED["amounts"](z) ** 0.9 - 7.0)
    ]
    np.testing.assert_array_equal(*map(rankdata, found))


def test_they_come_back_in_their_own_scale(case):
    main, references = tables_of(case, WARPED["amounts"])
    result = mf.refine(main, references, mf.RankLabels(np.arange(60), case[2][:60]), rng=0)
    np.testing.assert_array_equal(result.scores, result.predictions)
    frame = result.to_frame()
    np.testing.assert_array_equal(frame["score"], result.scores)
    np.testing.assert_array_equal(frame["original"], main.scores)
    inside = np.quantile(main.scores, [0.02, 0.98])
    assert np.mean((result.scores > inside[0]) & (result.scores < inside[1])) > 0.9
    # The errors are those of normal scores, brought to amounts.
    low, high = (result.main.in_scale(result.refined.scores + sign * result.refined.uncertainty) for sign in (-1, 1))
    np.testing.assert_allclose(result.uncertainty, (high - low) / 2.0)
    refused = mf.refine(main, references, method=mf.JointDiffusion(ignored=("theirs 0", "theirs 1")), rng=0)
    np.testing.assert_array_equal(refused.scores, main.scores)


def test_later_rows_and_saved_refinements_use_the_line_of_the_fit(case, tmp_path):
    fitted, references = tables_of(case, WARPED["amounts"], slice(220))
    result = mf.refine(fitted, references, rng=0)
    later, _ = tables_of(case, WARPED["amounts"], slice(220, 300))
    expected = mf.refine(*tables_of(case, WARPED["amounts"], slice(220)), rng=0).apply(later)
    normal = result.main.straightening.apply
    plain = mf.refine(tables_of(case, lambda z: normal(WARPED["amounts"](z)), slice(220))[0], references, rng=0)
    below, _ = tables_of(case, lambda z: normal(WARPED["amounts"](z)), slice(220, 300))
    np.testing.assert_allclose(normal(expected), plain.apply(below), atol=1e-9)
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.apply(later), expected)
    np.testing.assert_array_equal(again.scores, result.scores)
    # Rows of the fit keep their prediction.
    np.testing.assert_array_equal(again.apply(fitted), result.scores)


def test_files_and_their_windows_use_it_too(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main, references = tables_of(case, WARPED["amounts"])
    features = {f"x{k}": column for k, column in enumerate(main.table.T)}
    frame = pl.DataFrame({"id": main.keys, "score": main.scores, **features})
    frame.write_parquet("ours.parquet")
    for table in references:
        pl.DataFrame({"id": table.keys, "score": table.scores}).write_csv(f"{table.name}.csv")
    # Features in files of which a sample is fitted are read window by window.
    method = mf.JointDiffusion(fitted_rows=200)
    files = [f"{table.name}.csv" for table in references]
    result = mf.refine_files("ours.parquet", files, method=method, rng=0, out="refined.parquet")
    assert result.main.straightening is not None
    assert len(result.fitted_model.main) < 300
    np.testing.assert_array_equal(
        pl.read_parquet("refined.parquet")["score"], mf.refine(main, references, method=method, rng=0).scores
    )
    frame[:50].with_columns(score=2.0 * pl.col("score"), id="new" + pl.col("id")).write_csv("later.csv")
    mf.apply_files(result, "later.csv", "applied.csv")
    ids = [f"new{key}" for key in main.keys[:50]]
    later = mf.Observations(2.0 * main.scores[:50], main.table[:50], ids=ids, feature_names=list(features))
    np.testing.assert_allclose(pl.read_csv("applied.csv")["score"], result.apply(later), rtol=1e-12)


def test_shapes_near_the_normal_one_are_left_alone(rng):
    normal = rng.standard_normal(500)
    for scores in (
        normal,
        normal > 0.0,
        rng.uniform(size=500),
        np.round(normal),
        np.append(normal - 50.0, normal + 50.0),
    ):
        assert Straightening.of(scores.astype(float)) is None
    assert Straightening.of(np.append(np.arange(50.0), 1e200)) is None
    table = mf.Observations(np.exp(2.0 * normal), ids=range(500), scale="score")
    assert table.straightening is None


def test_the_line_rises_through_all_knots_and_beyond_them(rng):
    scores = np.exp(2.0 * rng.standard_normal(20_000))
    line = Straightening.of(scores)
    assert len(line.knots) <= KNOTS
    np.testing.assert_allclose(line.apply(scores), normal_scores(scores), atol=0.02)
    further = np.append(scores, [-1.0, 0.0, 2.0 * scores.max()])
    levels = line.apply(further)
    np.testing.assert_array_equal(rankdata(levels), rankdata(further))
    np.testing.assert_allclose(line.undo(levels), further, rtol=1e-9, atol=1e-9)


def test_equal_scores_have_the_mean_of_their_ranks(rng):
    scores = np.floor(np.exp(2.0 * rng.standard_normal(300)))
    np.testing.assert_allclose(Straightening.of(scores).apply(scores), normal_scores(scores), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*are negative, and no label is:manifuse.ManifuseWarning")
def test_a_regression_keeps_the_units_of_main_scores(case):
    labels = mf.RankLabels(np.arange(60), np.exp(2.0 * case[2][:60]))
    result = mf.refine(*tables_of(case, WARPED["amounts"]), labels, task="regression", rng=0)
    assert result.main.straightening is None


@pytest.mark.parametrize("features, common", [(False, 60), (True, 100)])
def test_of_references_that_are_looked_up_the_common_rows_count(rng, features, common):
    scores = np.append(rng.standard_normal(common), np.exp(3.0 * rng.standard_normal(200)))
    table = rng.standard_normal((len(scores), 2)) if features else None
    theirs = mf.Observations(scores, table, ids=range(len(scores)), name="theirs")
    ids = [*range(common), *range(1000, 1100 - common)]
    main = mf.Observations(rng.standard_normal(100), rng.standard_normal((100, 2)), ids=ids, name="ours")
    assert Reference.of(main, theirs).straightened(main).table is theirs
    assert straightened(theirs).straightening is not None


def test_numbers_that_leave_the_range_of_slopes_are_left_alone():
    assert Straightening.of(np.array([0.0, 5e-324, *np.exp(np.arange(30.0))])) is None
