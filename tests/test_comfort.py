"""What people see of a result: the summary, tables, data frames and notebooks."""

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.found import Representative
from manifuse.evidence.gain import Gain
from manifuse.evidence.one_factor import loadings_of
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import RelevanceTable
from manifuse.evidence.verdict import Verdict
from manifuse.grid import WIDTH, Grid, as_html, as_text, figures, told_apart
from manifuse.report.refinement_page import page_of
from manifuse.words.findings import findings_of
from manifuse.words.wording import verdict_of as verdict_of_evidence
from tests.problems import draw, remade, with_evidence


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module")
def taught(case):
    return mf.refine(case.main, case.references, case.labels(), rng=0)


def test_the_first_line_is_the_verdict_with_the_accuracy_before_and_after(taught):
    first = " ".join(taught.summary().partition("Why: ")[0].split())
    before, after = (f"{getattr(taught.accuracy, when):.1%}" for when in ("before", "after"))
    assert first.startswith(f"The scores of “{taught.main.name}” were refined, and are better")
    assert f"from {before} to {after} ({taught.gain.amount(signed=True)})" in first


def verdict_of(result):
    return verdict_of_evidence(result.evidence)


@pytest.mark.parametrize(
    "value, rows, words",
    [
        (0.021, 60, "and are better:"),
        (0.019, 60, "and are probably better:"),
        (0.009, 60, "but are not certainly better:"),
        (0.021, 9, "9 labelled rows taught a little at most, and are too few to measure whether that is better."),
    ],
)
def test_the_verdict_is_as_sure_as_the_gain(taught, value, rows, words):
    measured = with_evidence(taught, gain=Gain(value, 0.01, rows, "accuracy"))
    assert words in verdict_of(measured)
    unlike = with_evidence(
        measured, measured=replace(measured.evidence.measured, representative=Representative(like_rest=False))
    )
    limited = words.replace("better:", "better on rows like the labelled ones:") if "and are" in words else words
    assert limited in verdict_of(unlike)


def test_a_refinement_that_is_not_taken_says_what_it_would_have_reached(taught):
    refused = with_evidence(taught, verdict=Verdict.of(Reason.NO_GAIN), gain=Gain(-0.021, 0.01, 60, "accuracy"))
    kept = replace(taught.accuracy, after=taught.accuracy.before)
    refused = with_evidence(refused, measured=replace(refused.evidence.measured, accuracy=kept))
    assert f"would go from {kept.before:.1%} to {kept.before - 0.021:.1%}" in verdict_of(refused)


def test_labels_that_are_told_apart_as_before_show_nothing(taught):
    level = with_evidence(taught, gain=Gain(0.0, 0.0, 60, "accuracy"))
    (said,) = (each for each in findings_of(level.evidence, level.refined) if each.code == "gain")
    assert "so they do not show whether other rows gain or lose" in said.sentence


@pytest.mark.parametrize("chosen", ["scores", "feature"])
def test_common_rows_that_are_not_like_all_rows_are_named(chosen):
    rng = np.random.default_rng(0)
    truth, feature = rng.standard_normal((2, 300))
    scores = truth + rng.standard_normal(300)
    main = mf.Observations(scores, np.column_stack([truth, feature]), ids=range(300), name="ours")

    def found(rows):
        theirs = mf.Observations(truth[rows] + 0.5 * rng.standard_normal(60), ids=rows, name="theirs")
        result = mf.refine(main, [theirs], rng=0)
        said = (each for each in findings_of(result.evidence, result.refined) if each.code == "pairs differ")
        return result.to_dict()["pairs_like_rest"], list(said)

    is_like, (said,) = found(np.argsort({"scores": scores, "feature": feature}[chosen])[-60:])
    assert not is_like
    assert "are not like all rows of “ours”" in said.sentence
    assert found(rng.choice(300, 60, replace=False)) == (True, [])


@pytest.mark.parametrize("value, chance", [(-0.021, False), (-0.019, True), (0.005, True), (0.021, False)])
def test_what_is_clear_is_not_called_chance(taught, value, chance):
    changed = with_evidence(taught, gain=Gain(value, 0.01, 60, "accuracy"))
    (said,) = (each for each in findings_of(changed.evidence, changed.refined) if each.code == "gain")
    assert ("could be chance" in said.sentence) is chance
    measured = replace(changed.evidence.measured, at_pairs=changed.gain)
    evidence = replace(changed.evidence, measured=measured)
    (said,) = (each for each in findings_of(evidence, changed.refined) if each.code == "pairs")
    assert ("could be chance" in said.sentence) is chance


@pytest.mark.parametrize(
    "factor, said", [(1.0, None), (0.997, None), (0.42, "42% of what"), (3.14, "3.1 times what"), (1.0049, None)]
)
def test_references_are_said_to_count_less_or_more_where_they_do(taught, factor, said):
    measured = replace(taught.evidence.measured, at_pairs=Gain(-0.01, 0.02, 60, "accuracy"))
    agreement = replace(taught.evidence.agreement, factor_by_labels=factor)
    evidence = replace(taught.evidence, measured=measured, agreement=agreement)
    (found,) = (each for each in findings_of(evidence, taught.refined) if each.code == "pairs")
    assert ("the references count" in found.sentence) is (said is not None)
    assert said is None or f"count {said} they would" in found.sentence


def test_where_nothing_was_changed_no_new_scores_are_spoken_of(case):
    noise = np.random.default_rng(0).standard_normal(80)
    said = noise - 3.0 * case.main.scores[:80]
    opposed = mf.Observations(said, ids=case.main.keys[:80], name="opposed")
    result = mf.refine(case.main, [opposed], rng=0)
    assert not result.accepted
    (found,) = (each for each in findings_of(result.evidence, result.refined) if each.code == "no labels")
    assert found.sentence == "No labels came, so whether other scores would be better was not measured."


@pytest.mark.parametrize("labelled", [True, False])
def test_without_labels_the_verdict_says_who_spoke_for_it(case, labelled):
    told = mf.JointDiffusion(same_target=True)
    if labelled:
        assert "labelled rows" in verdict_of(mf.refine(case.main, case.references, case.labels(), rng=0))
    else:
        # Whoever says that all predict the same thing has not measured it.
        for references, method in ((case.references, told), (case.references[:1], None)):
            result = mf.refine(case.main, references, method=method, rng=0)
            assert "was not measured" in verdict_of(result)
        strong = draw(0, features=False, references=3, noise=0.4)
        asked = mf.refine(strong.main, strong.references, rng=0)
        assert "the references agree with them and with each other" in verdict_of(asked)


def test_printed_tables_fit_and_no_head_is_cut(case):
    references = [
        mf.Observations(each.scores, each.table, ids=each.keys, name="a partner with a long name " * (2 + number))
        for number, each in enumerate(case.references)
    ]
    result = mf.refine(case.main, references, case.labels(), rng=0)
    lines = as_text(result.relevance.grid).splitlines()
    assert max(map(len, lines)) <= WIDTH
    # Long names of columns are there over two lines.
    heads = [name.rpartition("_")[::2] for name in result.relevance.grid.head]
    assert lines[0].split() == [f"{first}_" for first, _ in heads if first]
    assert lines[1].split() == [last for _, last in heads]
    # The whole name is there, over several lines.
    names = "".join(re.sub(r"[^a-z ]", "", line) for line in lines[3:]).replace(" ", "")
    assert names.count("apartnerwithalongname") == 2 + 3


def test_what_references_are_worth_is_said_in_points(taught):
    def said_of(worth):
        found = findings_of(with_evidence(taught, worth=worth).evidence, taught.refined)
        return " ".join(finding.sentence for finding in found if finding.code == "worth")

    assert said_of(taught.worth).count("points") == 1
    assert f"{100 * taught.relevance[0].worth.value:+.1f} ± " in taught.relevance.grid.body[0][1]
    lost = replace(taught.worth, value=-1.0)
    assert "probably worth less than nothing" in said_of(lost)
    for errors, said in ((0.4, "are worth 1.0"), (0.6, "are probably worth 1.0"), (1.1, "cannot tell")):
        assert said in said_of(replace(taught.worth, value=0.01, standard_error=0.01 * errors))
    assert "cannot tell" in said_of(replace(taught.worth, value=0.0))


def test_gains_of_any_size_are_told_with_their_digits(case):
    method = mf.JointDiffusion(task="regression")
    for size in (1e-6, 1.0, 1e9):
        main = mf.Observations(size * case.main.scores, case.main.table, ids=case.main.keys, name="main")
        labels = mf.RankLabels(case.main.keys[case.labelled], size * case.truth[case.labelled])
        result = mf.refine(main, case.references, labels, method, rng=0)
        value, error = result.gain.amount(signed=False).replace(",", "").split(" ± ")
        assert float(value) == pytest.approx(result.gain.value, rel=0.06)
        assert float(error) == pytest.approx(result.gain.standard_error, rel=0.06)
        lines = as_text(result.relevance.grid).splitlines()
        assert max(map(len, lines)) <= WIDTH
        # Names may break, and numbers never do.
        assert sum(line.endswith(" 40") for line in lines[3:]) == len(result.relevance)


def test_who_does_not_share_the_common_factor_is_named():
    strong = draw(0, features=False, references=3, noise=0.4)
    one, two, three = strong.references
    other = mf.Observations(np.random.default_rng(5).standard_normal(len(three)), ids=three.keys, name="o")
    method = mf.JointDiffusion()
    others = [other, *(remade(other, predictions=-3.0 * each.scores, name=each.name) for each in (one, two))]
    assert mf.refine(strong.main, others, method=method, rng=0).reason is Reason.DIFFER
    result = mf.refine(strong.main, [one, two, other], method=method, rng=0)
    said = " ".join(result.summary().split())
    assert "Do all predict the same thing?" in said
    names = zip(("main", one.name, two.name, "o"), result.evidence.agreement.loadings.tolist(), strict=True)
    listed = ", ".join(f"{name} {loading:.2f}" for name, loading in names)
    assert f"(none may be clearly below 0.2): {listed}." in said
    # All are listed, also if one has the name of the main predictor.
    namesake = mf.Observations(one.scores, ids=one.keys, name="main")
    said = " ".join(mf.refine(strong.main, [namesake, two, other], method=method, rng=0).summary().split())
    assert f"(none may be clearly below 0.2): {listed.replace(one.name, 'main')}." in said


def test_a_reference_in_reverse_is_named(case):
    turned = [
        mf.Observations(-each.scores, each.table, ids=each.keys, name=each.name) if number == 0 else each
        for number, each in enumerate(case.references)
    ]
    name = turned[0].name
    for references, named in ((turned, True), (case.references, False)):
        said = " ".join(mf.refine(case.main, references, rng=0).summary().split())
        assert (f"High where “main” is low: “{name}”. If larger scores mean less" in said) is named


def test_labels_that_mean_the_opposite_are_noticed(case, taught):
    labels = mf.RankLabels(case.main.keys[case.labelled], -case.truth[case.labelled])
    turned = mf.refine(case.main, case.references, labels, rng=0)
    assert (turned.reason, turned.accepted) == (Reason.REVERSED, False)
    np.testing.assert_array_equal(turned.scores, case.main.scores)
    said = " ".join(turned.summary().split())
    assert "rank the labels backwards" in said
    assert f"({turned.accuracy.before:.1%})" in said
    assert "backwards" not in taught.summary()


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_labels_of_other_rows_are_noticed(case, task):
    labels = case.labels()
    # As if the ids had slipped by some rows.
    slipped = mf.RankLabels(np.roll(labels.keys, 7), labels.grades)
    for each, unrelated in ((labels, False), (slipped, True)):
        result = mf.refine(case.main, case.references, each, rng=0, task=task)
        said = " ".join(result.summary().split())
        assert ("“main” say no more of the labels than chance could" in said) is unrelated
        assert ("could, and neither do the refined ones. If that surprises" in said) is unrelated
        assert result.evidence.measured.unrelated is unrelated


@pytest.mark.filterwarnings("ignore:.*, and no label is:manifuse.ManifuseWarning")
def test_scores_in_the_order_of_skewed_values_know_something_of_them(case, rng):
    """A line over the scores explains little of log-normal values, but their order."""
    values = np.exp(2.0 * case.truth[case.labelled] + 0.5 * rng.standard_normal(60))
    labels = mf.RankLabels(case.main.keys[case.labelled], values)
    result = mf.refine(case.main, case.references, labels, rng=0, task="regression")
    assert not result.evidence.measured.unrelated


def test_few_labels_that_scores_clearly_rank_are_not_said_to_be_of_other_rows():
    """Own scores have seen no label, so that rows of all folds are compared."""
    for seed in range(15):
        case = draw(seed, noise=0.4)
        labels = mf.RankLabels(case.main.keys[case.labelled[:20]], case.truth[case.labelled[:20]])
        clear = spearmanr(case.main.scores[case.labelled[:20]], labels.grades).pvalue < 1e-3
        assert not (clear and mf.refine(case.main, [], labels, rng=seed).evidence.measured.unrelated)


@pytest.mark.parametrize("seed", range(1, 8))
def test_few_labels_in_reverse_turn_no_weak_scores_around(seed):
    """So few labels cannot tell that scores rank them backwards; what they teach points the other way all the same."""
    rng = np.random.default_rng(seed)
    truth, ids = rng.normal(size=240), np.arange(240)
    features = np.column_stack([truth, rng.normal(size=240)]) + 0.3 * rng.normal(size=(240, 2))
    ours = mf.Observations(truth + 2.0 * rng.normal(size=240), features, ids=ids)
    known = rng.choice(240, 30, replace=False)
    right, reversed_ = (mf.refine(ours, [], mf.RankLabels(known, sign * truth[known]), rng=0) for sign in (1, -1))
    assert (right.reason, reversed_.reason) == (Reason.TAUGHT, Reason.REVERSED)
    assert not reversed_.evidence.measured.backwards
    np.testing.assert_array_equal(reversed_.scores, ours.scores)


def test_scores_that_know_nothing_are_refined_though_fitted_ones_hardly_correlate_with_them():
    """A correlation a little below 0 turns nothing around."""
    rng, rows = np.random.default_rng(202), 120
    features = rng.standard_normal((rows, 3))
    truth = features @ [1.0, 1.0, 0.5]
    main = mf.Observations(rng.standard_normal(rows), features, ids=range(rows), name="ours")
    theirs = (truth + 0.5 * rng.standard_normal(rows))[50:110]
    labels = mf.RankLabels(range(40), truth[:40])
    result = mf.refine(main, [mf.Observations(theirs, ids=range(50, 110), name="theirs")], labels, rng=0)
    assert -0.01 < np.corrcoef(result.scores, main.scores)[0, 1] < 0
    assert result.reason is Reason.TAUGHT
    assert ranking_accuracy(truth[40:], main.scores[40:]) < 0.55
    assert ranking_accuracy(truth[40:], result.scores[40:]) > 0.9


def test_a_regression_that_says_the_same_of_all_rows_is_not_taken(case):
    """Own scores say the opposite of few labels, so the best line through what was found is flat."""
    rng = np.random.default_rng(0)
    truth, ids = rng.normal(size=300), np.arange(300)
    ours = mf.Observations(-truth, rng.normal(size=(300, 3)), ids=ids, name="ours")
    for seed in range(6):
        known = np.random.default_rng(seed).choice(300, 12, replace=False)
        result = mf.refine(ours, [], mf.RankLabels(known, 70 + 9 * truth[known]), rng=0, task="regression")
        assert np.ptp(result.scores) > 0
        assert result.accepted is (result.reason is Reason.TAUGHT)


@pytest.mark.filterwarnings("ignore:The feature 0 of table says the label")
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_what_is_measured_before_and_the_gain_give_what_is_measured_after(seed):
    """All are measured by the same comparisons, so that no accuracy exceeds 1, even if the features know the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=300)
    features = np.column_stack([truth, rng.normal(size=300)])
    ours = mf.Observations(truth + 1.2 * rng.normal(size=300), features, ids=np.arange(300))
    known = rng.choice(300, 30, replace=False)
    result = mf.refine(ours, [], mf.RankLabels(known, truth[known]), rng=0)
    assert result.accuracy.after == pytest.approx(result.accuracy.before + result.gain.value, abs=1e-12)
    assert result.accuracy.after <= 1 + 1e-12


def test_few_values_of_a_regression_give_no_errors_in_other_units(case):
    given = case.main, case.references
    for count, known in ((5, False), (40, True)):
        rows = case.labelled[:count]
        labels = mf.RankLabels(case.main.keys[rows], 1000 + case.truth[rows])
        assert (mf.refine(*given, labels, rng=0, task="regression").uncertainty is not None) is known


@pytest.mark.filterwarnings("ignore:.*, and no label is:manifuse.ManifuseWarning")
def test_errors_that_grow_with_the_scores_are_said_to_be_too_small_there(case):
    truth = np.exp(case.truth + 0.5 * np.random.default_rng(0).standard_normal(len(case.truth)))
    labels = mf.RankLabels(case.main.keys[:100], truth[:100])
    result = mf.refine(case.main, case.references, labels, rng=0, task="regression")
    assert result.evidence.measured.uneven > 0
    said = " ".join(result.summary().split())
    assert "missed by more where refined scores are higher. Standard errors do not know that" in said
    turned = with_evidence(result, measured=replace(result.evidence.measured, uneven=-0.5))
    assert "where refined scores are lower" in " ".join(turned.summary().split())


def test_single_hyperparameters_are_those_of_the_method(case):
    method = mf.JointDiffusion(same_target=True, diffusion=mf.Algorithm1(neighbours=7))
    whole = mf.refine(case.main, case.references, method=method, rng=0)
    single = mf.refine(case.main, case.references, same_target=True, diffusion__neighbours=7, rng=0)
    over = mf.refine(case.main, case.references, method=method, ignored=(case.references[0].name,), rng=0)
    assert single.method == whole.method
    np.testing.assert_array_equal(single.scores, whole.scores)
    assert over.method == replace(method, ignored=(case.references[0].name,))
    with pytest.raises(mf.InputError, match="no hyperparameter named 'same_targets'; did you mean 'same_target'"):
        mf.refine(case.main, case.references, same_targets=True)
    for name in ("seed", "random_state"):
        with pytest.raises(mf.InputError, match=f"{name} is no hyperparameter; give the seed as rng"):
            mf.refine(case.main, case.references, **{name: 1})


def test_labels_explain_why_references_have_no_weight(case):
    rng = np.random.default_rng(6)
    others = [
        mf.Observations(rng.standard_normal(160), ids=case.main.keys, name=f"other {number}") for number in range(3)
    ]
    others = [remade(each, predictions=-case.truth + each.scores) for each in others]
    result = mf.refine(case.main, others, case.labels(), rng=0)
    assert not result.weights.any()
    said = " ".join(result.summary().split())
    why = "too few of them have something in common with your scores, or some are high where others are low"
    assert f"The references are not followed: {why}." in said


def test_a_reference_that_seems_to_harm_is_named(taught):
    first, second = taught.relevance
    # A loss is named if it is clear, and at least half a point.
    for value, error, named in ((-0.03, 0.01, True), (-0.01, 0.01, False), (-0.004, 0.0004, False)):
        entries = RelevanceTable((replace(first, worth=Gain(value, error, 60, "accuracy")), second))
        summary = with_evidence(taught, relevance=entries).summary()
        said = "Perhaps better left out, but for the rows that they know: “reference 1” (-3.0 ± 1.0 points)."
        assert (said in " ".join(summary.split())) is named
        assert ("better left out" in summary) is named


def test_relevance_is_a_tuple_that_knows_names(taught):
    relevance = taught.relevance
    assert isinstance(relevance, tuple)
    assert relevance[relevance[1].name] is relevance[1]
    with pytest.raises(KeyError, match="no reference 'nobody'; there are: "):
        relevance["nobody"]
    assert pickle.loads(pickle.dumps(relevance)) == relevance
    assert all(entry.name in repr(relevance) for entry in relevance)
    assert repr(type(relevance)()) == "()"


@pytest.mark.parametrize("library", [None, pl, pd])
def test_relevance_and_rows_become_data_frames(taught, library):
    rows, references = taught.to_frame(library), taught.relevance.to_frame(library)
    assert type(rows) is type(references) is (pl if library is None else library).DataFrame
    assert list(rows.columns) == ["id", "score", "original", "support", "uncertainty"]
    for name, values in (("score", taught.scores), ("support", taught.support), ("uncertainty", taught.uncertainty)):
        np.testing.assert_array_equal(rows[name].to_numpy(), values)
    assert list(rows["id"]) == taught.main.keys.tolist()
    assert list(references["name"]) == [entry.name for entry in taught.relevance]
    assert list(references["worth"]) == [entry.worth.value for entry in taught.relevance]


def test_rows_become_a_data_frame_of_the_library_that_the_scores_came_from(case):
    for library, found in ((pd, pd), (pl, pl), (None, pl)):
        scores = case.main.scores if library is None else library.Series(case.main.scores)
        main = mf.Observations(scores, case.main.table, ids=case.main.keys, name="main")
        assert type(mf.refine(main, case.references, rng=0).to_frame()) is found.DataFrame


def test_a_worth_that_was_not_measured_is_nan(case):
    result = mf.refine(case.main, case.references[:1], rng=0)
    assert np.isnan(result.relevance.to_frame()["worth"][0])


def test_another_library_is_refused(taught):
    with pytest.raises(mf.InputError, match="give pandas or polars"):
        taught.to_frame("nothing")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_read_by_names(make):
    frame = make({"age": [31.0, 72, 55], "risk": [0.2, 0.9, 0.4], "who": ["a", "b", "c"], "town": ["x", "y", "z"]})
    table = mf.Observations.from_frame(frame, id="who", score="risk", drop=["town"], name="clinic")
    assert table.keys.tolist() == ["a", "b", "c"]
    assert table.scores.tolist() == [0.2, 0.9, 0.4]
    assert table.feature_names == ("age",)
    assert table.table.tolist() == [[31.0], [72.0], [55.0]]
    # Refined scores come back in the library of the frame.
    assert type(table.like_predictions(table.scores)) is type(frame["risk"])


def test_frames_that_cannot_be_read_are_refused():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "score": [0.2, 0.9, 0.4], "town": ["x", "y", "z"]})
    with pytest.raises(mf.InputError, match=r"clinic has no column 'risk' \(it has: id, score, town\)"):
        mf.Observations.from_frame(frame, score="risk", name="clinic")
    with pytest.raises(mf.InputError, match="Column 'town' of clinic is of type String"):
        mf.Observations.from_frame(frame, name="clinic")
    with pytest.raises(mf.InputError, match="no column 'village'"):
        mf.Observations.from_frame(frame, drop=["village"])
    with pytest.raises(mf.InputError, match="drop='town' came, but a list"):
        mf.Observations.from_frame(frame, drop="town")
    with pytest.raises(mf.InputError, match="ndarray came for clinic, but Observations or a data frame was expected"):
        mf.Observations.from_frame(np.zeros((3, 2)), name="clinic")


def test_warnings_point_to_the_line_of_the_user(case, tmp_path):
    ours = pl.DataFrame({"id": range(40), "score": np.linspace(0.0, 2.0, 40), "fold": range(0, 80, 2)})
    theirs = ours.select("id", (pl.col("score") - 0.5) ** 2)
    ours.write_csv(tmp_path / "ours.csv")
    theirs.write_csv(tmp_path / "theirs.csv")
    asked = [
        lambda: mf.Observations.from_frame(ours, id="id", score="score", name="ours"),
        lambda: mf.refine(ours, [theirs], id="id", score="score"),
        lambda: mf.refine_files(tmp_path / "ours.csv", tmp_path / "theirs.csv", out=tmp_path / "out.csv"),
    ]
    for each in asked:
        with pytest.warns(mf.ManifuseWarning, match="fold") as said:
            each()
        assert {Path(warning.filename).name for warning in said} == {Path(__file__).name}


def test_notebooks_show_tables_and_no_markup_of_the_users(case):
    evil = mf.Observations(case.main.scores, case.main.table, ids=case.main.keys, name="<script>alert(1)</script>")
    other = case.references[0]
    named = mf.Observations(other.scores, other.table, ids=other.keys, name="<b>bold</b>")
    page = mf.refine(evil, [named], case.labels(), rng=0)._repr_html_()
    assert "<script" not in page
    assert "&lt;b&gt;bold" in page
    assert page.count("<tr>") == 2
    assert "<script" not in evil._repr_html_()
    assert f"<td>{case.main.keys[0]}</td>" in evil._repr_html_()
    assert as_html(Grid(("a",), (("<",),))) == (
        "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;</td></tr></tbody></table>"
    )


def test_names_that_could_be_mistaken_stand_in_quotes():
    assert told_apart(("a", "", "b, c", " d")) == "a, '', 'b, c', ' d'"


def test_what_is_printed_is_no_json_and_numbers_in_json_are_whole(taught):
    numbers = json.loads(json.dumps(taught.to_dict()))
    assert numbers["gain"]["value"] == taught.gain.value
    assert str(taught.gain.value) not in taught.summary()


@pytest.mark.parametrize(
    "value, digits, text",
    [
        (0.0, 4, "0"),
        (-0.00012345, 3, "-0.000123"),
        (999.4, 3, "999"),
        (999.6, 3, "1,000"),
        (-56_612.3, 3, "-56,612"),
        (282.0, 4, "282"),
        (1.5e11, 2, "150,000,000,000"),
        (2e12, 2, "2e+12"),
        (np.inf, 3, "inf"),
    ],
)
def test_numbers_have_no_powers_of_ten_unless_they_are_tiny_or_huge(value, digits, text):
    assert figures(value, digits) == text


def test_a_regression_of_large_values_is_told_in_whole_numbers(case):
    prices = [remade(each, predictions=2e5 + 9e4 * each.scores) for each in (case.main, *case.references)]
    labels = mf.RankLabels(case.main.keys[case.labelled], 2e5 + 9e4 * case.truth[case.labelled])
    result = mf.refine(prices[0], prices[1:], labels, rng=0, task="regression")
    page = page_of(result)
    for text in (
        result.summary(),
        page,
        str(mf.explain(result, case.main.keys[0], prices[1:])),
        prices[0]._repr_html_(),
    ):
        assert not re.search(r"\de\+\d", text)
    assert re.search(r"error goes from \d+,\d{3} to \d+,\d{3}", " ".join(result.summary().split()))


def test_no_cell_of_a_printed_table_is_cut():
    names = ("Diabetes mellitus of type 2 (64%)", "a_reference_of_one_word_that_is_long")
    grid = Grid(
        ("row", "id", *(f"column_{number}" for number in range(6))),
        (("this row", "patient 102", *[names[0]] * 6), (f"pair, {names[1]}", "patient 3", *["—"] * 6)),
    )
    text = as_text(grid)
    assert "…" not in text
    shown = "".join(text.split())
    assert shown.count("patient102") == shown.count("patient3") == 1
    for word in ("Diabetes", "mellitus", "(64%)"):
        assert text.count(word) == 6
    plain = Grid(("name", "worth"), ((names[1], "+0.3 ± 0.1"),))
    assert max(map(len, as_text(plain).splitlines())) <= WIDTH
    # Numbers leave little room for the long text at the end, and words stay whole in it.
    head = (
        "reference",
        "held_out_alignment",
        "alignment",
        "chance_alignment",
        "weight",
        "reached",
        "worth",
        "standing",
    )
    said = "followed, counts as one of two voices"
    crowded = as_text(Grid(head, (("reference 1", *["0.53"] * 5, "+1.2 ± 0.4", said),)))
    assert {*said.split(), "reference", "1"} <= set(crowded.split())


def test_a_loading_is_shown_as_the_correlation_that_it_is():
    """An estimate from few pairs can be beyond 1."""
    correlated = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, 0.72], [0.9, 0.72, 1.0]])
    assert loadings_of(correlated).max() > 1.0
    rng = np.random.default_rng(5)
    truth = rng.standard_normal(120)
    main = mf.Observations(truth, rng.standard_normal((120, 2)), ids=range(120), name="ours")
    others = [
        mf.Observations(truth + 0.5 * rng.standard_normal(120), ids=range(120), name=name) for name in ("A", "B", "C")
    ]
    loadings = mf.refine(main, others, rng=0).evidence.agreement.loadings
    assert loadings.max() == 1.0


@pytest.mark.parametrize(
    ("given", "meant"),
    [({"reference": []}, "did you mean 'references'"), ({"same_targets": True}, "did you mean 'same_target'")],
)
def test_a_misspelt_argument_is_told_what_it_may_have_meant(case, given, meant):
    with pytest.raises(mf.InputError, match=meant):
        mf.refine(case.main, case.references, **given)


def test_a_row_to_explain_is_one_id(case, taught):
    with pytest.raises(mf.InputError, match="Series came for the row to explain, but one id was expected"):
        mf.explain(taught, pd.Series(["m1", "m2"]))


def weak_beside_reversed(seed, references=2):
    """A weak main predictor, a good reference, and a good one whose sign is wrong."""
    rng = np.random.default_rng(seed)
    truth, features = rng.standard_normal(300), rng.standard_normal((300, 3))
    main = mf.Observations(0.2 * truth + rng.standard_normal(300), features, ids=range(300), name="ours")
    tables = [
        mf.Observations((sign * truth + 0.5 * rng.standard_normal(300))[:80], ids=range(80), name=name)
        for sign, name in ((1, "good"), (-1, "turned"))
    ]
    return main, tables[2 - references :], truth


def test_a_reversed_reference_is_named_beside_a_weak_predictor_and_a_good_one():
    named = 0
    for seed in range(8):
        main, references, _ = weak_beside_reversed(seed)
        said = " ".join(mf.refine(main, references, rng=0).summary().split())
        assert "predicts something else" not in said
        named += "are low: “turned”. If larger scores mean less there" in said or "is low: “turned”. If" in said
    assert named >= 6


def test_a_reference_that_labels_take_out_is_said_not_to_be_followed():
    out = 0
    for seed in range(12):
        main, references, truth = weak_beside_reversed(seed, references=1)
        labels = mf.RankLabels(range(60), truth[:60])
        result = mf.refine(main, references, labels, rng=0)
        agreement = result.evidence.agreement
        taken_out = agreement.factor_by_labels == 0 and agreement.pulls_without_labels.any()
        sentence = "not followed: labels of rows that they know are not higher where they are high"
        assert (sentence in " ".join(result.summary().split())) is bool(taken_out)
        out += taken_out
    assert out > 3
