"""What a report says in numbers, computed a second time."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from tests.problems import draw, remade, with_evidence

import manifuse as mf
from manifuse.columns.refined_scores import LITTLE, RefinedScores
from manifuse.evidence.gain import Gain
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import RelevanceTable, Standing
from manifuse.report.refinement_figures import draw_course, draw_uncertainty, draw_worth
from manifuse.report.refinement_statistics import Shift, by_weight, largest, shown_metric
from manifuse.report.refinement_tables import moves_grid
from manifuse.words.findings import findings_of
from manifuse.words.wording import is_unmeasured


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module")
def result(case):
    return mf.refine(case.main, case.references, method=mf.JointDiffusion(same_target=True), rng=0)


@pytest.fixture(scope="module")
def labelled():
    """A run with labels, of coupled references."""
    case = draw(0, features=False)
    return mf.refine(case.main, case.references, case.labels(), rng=0)


def test_the_picture_of_scores_in_other_units_has_the_line_between_the_units(case):
    """Its axes have the ranges of the scores before and after."""
    main = remade(case.main, predictions=300.0 + 50.0 * case.main.scores)
    changed = mf.refine(main, case.references, case.labels(), task="regression", rng=0)
    axes = mf.plot(changed, "shift").axes[0]
    before, after = axes.lines[0].get_data()
    slope, offset = np.polyfit(main.scores[case.labelled], case.truth[case.labelled], 1)
    np.testing.assert_allclose(before, [main.scores.min(), main.scores.max()])
    np.testing.assert_allclose(after, offset + slope * before, atol=0.05)
    assert axes.get_ylim()[1] < 10.0
    same = mf.plot(mf.refine(case.main, case.references, case.labels(), rng=0), "shift").axes[0]
    np.testing.assert_array_equal(*same.lines[0].get_data())


def standings(result):
    return tuple(entry.standing for entry in result.relevance)


def shift_of(before, after, support=None):
    before, after = (np.asarray(scores, dtype=float) for scores in (before, after))
    support = np.ones(len(before)) if support is None else np.asarray(support)
    return Shift(np.array([f"row {row}" for row in range(len(before))]), before, after, support)


def test_a_place_that_falls_while_its_score_rises_is_said_so():
    shift = Shift(np.array(["a", "b", "c"]), np.array([3.0, 2.0, 1.0]), np.array([4.0, 7.0, 6.0]), np.ones(3))
    assert (
        shift.moved(0)
        == "“a” falls from place 100 to 0 (0 is the lowest score, 100 the highest); yet its score was 3 and is 4."
    )
    assert "rises from place 50 to 100 (0 is the lowest score, 100 the highest); its score was 2 " in shift.moved(1)


def test_the_metric_is_the_correlation_at_the_rows_that_both_know(case, result):
    names, values = shown_metric(result, range(2))
    assert names == ["main", "refined", "reference 1", "reference 2"]
    expected = np.corrcoef([result.main.scores, result.predictions])
    np.testing.assert_allclose(values[:2, :2], expected, atol=1e-12)
    for column, reference in enumerate(case.references):
        known = np.isin(reference.keys, case.main.keys)
        places = [np.flatnonzero(case.main.keys == key)[0] for key in reference.keys[known]]
        ours = [scores[places] for scores in (result.main.scores, result.predictions)]
        expected = np.corrcoef([*ours, reference.scores[known]])[2, :2]
        np.testing.assert_allclose(values[2 + column, :2], expected, atol=1e-12)
    assert shown_metric(result, [1])[0] == ["main", "refined", "reference 2"]
    np.testing.assert_array_equal(shown_metric(result, [1])[1], values[np.ix_([0, 1, 3], [0, 1, 3])])


def test_the_metric_holds_the_alignments_of_the_result(result, labelled):
    for each in (result, labelled):
        expected = [entry.alignment for entry in each.relevance]
        np.testing.assert_allclose(shown_metric(each, range(2))[1][1, 2:], expected, atol=1e-9)


def test_the_metric_of_coupled_tables_is_that_of_their_scores(labelled):
    case = draw(0, features=False)
    known = [dict(zip(r.keys, r.scores, strict=True)) for r in case.references]
    theirs = [[scores[key] for key in case.main.keys] for scores in known]
    expected = np.corrcoef([case.main.scores, np.asarray(labelled.predictions), *theirs])
    np.testing.assert_allclose(shown_metric(labelled, range(2))[1], expected, atol=1e-12)


def test_the_metric_of_a_refusal_is_without_refined_scores(case, rng):
    noise = [remade(r, predictions=rng.standard_normal(len(r))) for r in case.references]
    refused = mf.refine(case.main, noise, method=mf.JointDiffusion(same_target=False), rng=0)
    assert not refused.accepted
    assert shown_metric(refused, range(2))[0] == ["main", "reference 1", "reference 2"]


def test_a_main_table_may_be_called_refined(case):
    result = mf.refine(remade(case.main, name="refined"), case.references, rng=0)
    names, values = shown_metric(result, range(2))
    assert names[:2] == ["refined", "refined"]
    assert values.shape == (4, 4)


def test_ranks_are_counted_one_by_one(rng):
    before, after = rng.integers(0, 9, (2, 40))
    shift = shift_of(before, after)
    for scores, ranks in zip((before, after), shift.ranks, strict=True):
        above = [np.sum(scores > score) + (np.sum(scores == score) + 1) / 2 for score in scores]
        np.testing.assert_array_equal(ranks, above)
    np.testing.assert_array_equal(shift.rises, shift.ranks[0] - shift.ranks[1])
    assert shift.median_rise == np.median(np.abs(shift.rises))


def test_ranks_mind_no_increasing_function(rng):
    before, after = rng.standard_normal((2, 50))
    np.testing.assert_array_equal(shift_of(before, after).rises, shift_of(np.exp(before), after**3 - 7).rises)


def test_the_rank_correlation_is_spearmans(rng):
    before, after = rng.integers(0, 12, (2, 60))
    assert shift_of(before, after).correlation == pytest.approx(spearmanr(before, after).statistic, abs=1e-12)


def test_rows_that_moved_most_stand_first_with_their_support(rng):
    before, after, support = rng.standard_normal(30), rng.standard_normal(30), rng.uniform(size=30)
    shift = shift_of(before, after, support)
    by_rise = sorted(range(30), key=lambda row: -shift.rises[row])
    risen, fallen = largest(shift.rises, 4), largest(-shift.rises, 4)
    assert risen.tolist() == by_rise[:4]
    assert shift.rises[fallen].tolist() == sorted(shift.rises)[:4]
    for cells in moves_grid(shift, np.concatenate([risen, fallen])).body:
        row = int(cells[0].removeprefix("row "))
        assert float(cells[1]) == float(cells[2]) - float(cells[3]) == shift.rises[row]
        shown = [float(cell) for cell in cells[4:]]
        np.testing.assert_allclose(shown, [before[row], after[row], support[row]], rtol=5e-4, atol=5e-3)


def test_rows_that_stayed_neither_rose_nor_fell():
    shift = shift_of([3, 2, 1, 0], [2, 3, 1, 0])
    assert largest(shift.rises, 4).tolist() == [1]
    assert largest(-shift.rises, 4).tolist() == [0]
    assert largest(shift_of([3, 2, 1], [30, 20, 10]).rises, 3).tolist() == []


def test_what_stays_in_the_highest_tenth(rng):
    before, after = rng.standard_normal((2, 95))
    top, then = (set(np.argsort(-scores)[:10].tolist()) for scores in (before, after))
    assert shift_of(before, after).top_kept == len(top & then) / 10
    assert shift_of(before, 2 * before).top_kept == 1
    assert shift_of(before, -before).top_kept == 0


def test_rows_with_hardly_any_evidence_are_those_below_the_limit():
    assert RefinedScores(np.zeros(4), np.array([0.0, LITTLE - 1e-9, LITTLE, 1.0]), None).little_support == 2


@pytest.mark.parametrize("rows", [1, 2, 7, 100, 101, 5000])
def test_a_sample_spans_the_scores_evenly_and_is_always_the_same(rows, rng):
    before = rng.standard_normal(rows)
    shift = shift_of(before, before)
    sample = shift.sample(100)
    assert len(set(sample.tolist())) == len(sample) == min(rows, 100)
    np.testing.assert_array_equal(sample, shift.sample(100))
    positions = np.argsort(np.argsort(before))[sample]
    assert {positions.min(), positions.max()} == {0, rows - 1}
    gaps = np.diff(np.sort(positions))
    assert len(gaps) == 0 or gaps.max() - gaps.min() <= 1


def test_the_course_is_the_history(result):
    (panel,) = draw_course(result, [1, 0]).axes
    one, other, *starts = (line.get_xydata() for line in panel.lines)
    for index, step in enumerate(result.history):
        before = [earlier for earlier in result.history[: index + 1] if earlier.step > 0]
        drawn = [line[index].tolist() for line in (one, other)]
        assert drawn == [[len(before), step.alignments[each]] for each in (1, 0)]
    first = [step for step in result.history if step.step == 0]
    assert len(starts) == len(first) - 1 > 1
    # A round begins where the one before it ended.
    assert {line[0, 0] for line in starts} <= set(one[:, 0])


def test_references_stand_as_they_were_followed(case, rng):
    turned = remade(case.references[0], predictions=-case.references[0].scores, name="turned")
    result = mf.refine(case.main, [turned, *case.references], method=mf.JointDiffusion(same_target=True), rng=0)
    assert standings(result) == (Standing.DIFFERS, Standing.TOOK_PART, Standing.TOOK_PART)
    assert by_weight(result)[2] == 0
    assert result.weights[by_weight(result)].tolist() == sorted(result.weights, reverse=True)
    strict = mf.refine(case.main, case.references, case.labels(), mf.JointDiffusion(same_target=False), rng=0)
    assert standings(strict) == (Standing.TAUGHT,) * 2


def test_a_copy_of_the_main_predictor_repeats_it(recwarn):
    case = draw(0, features=False)
    copy = remade(case.main, predictions=3 * case.main.scores + 1, name="copy")
    constant = remade(case.main, predictions=np.ones(160), name="constant")
    result = mf.refine(case.main, [copy, constant, *case.references], rng=0)
    assert len(recwarn) == 2
    assert standings(result) == (Standing.IDLE,) * 2 + (Standing.TOOK_PART,) * 2
    said = said_of(result)
    assert "Ignored, because their scores are all equal or repeat “main”: “copy” and “constant”." in said


def test_what_the_method_leaves_out_is_not_said_to_be_chance(case):
    name = case.references[0].name
    result = mf.refine(case.main, case.references, method=mf.JointDiffusion(ignored=(name,)), rng=0)
    assert standings(result) == (Standing.LEFT_OUT, Standing.TOOK_PART)
    # What takes no part is no argument, and is said to be left out.
    assert f"Left out, as `ignored` says: “{name}”." in result.summary()
    assert name not in said_of(result)
    assert "the reference agrees with “main” more than by chance" in said_of(result)


def said_of(result):
    found = findings_of(result.evidence, result.refined)
    return " ".join(finding.sentence for finding in found)


def test_what_references_say_is_not_argued_where_there_are_none(case):
    labels = mf.RankLabels(case.main.keys[case.labelled[:8]], case.truth[case.labelled[:8]])
    result = mf.refine(case.main, [], labels, rng=0)
    assert result.reason is Reason.FEW_LABELS
    assert "reference" not in said_of(result)


def test_a_reference_in_reverse_does_not_agree(case):
    first, second = case.references
    turned = remade(first, predictions=-first.scores, name="turned")
    said = said_of(mf.refine(case.main, [turned, second], rng=0))
    assert "1 of 2 references agrees with “main” more than by chance; “turned” does not." in said
    assert "High where “main” is low: “turned”." in said
    assert "Not followed: “turned”; at the pairs it is high where “main” is low." in said
    assert "2 of 2 references agree" in said_of(mf.refine(case.main, case.references, rng=0))


def test_a_reference_of_noise_among_others_is_named(rng):
    case = draw(8, noise=0.4, references=3)
    noise = mf.Observations(rng.standard_normal(100), ids=case.main.keys[:100], name="noise")
    result = mf.refine(case.main, [*case.references, noise], rng=0)
    assert result.reason is Reason.AGREE
    assert "most references agree with them and with each other" in result.summary().replace("\n", " ")
    assert "3 of 4 references agree with “main” more than by chance; “noise” does not." in said_of(result)


def test_of_a_sample_fitted_rows_are_counted(case, tmp_path):
    method = mf.JointDiffusion(fitted_rows=100, same_target=True)
    result = mf.refine(case.main, case.references, method=method, rng=0)
    whole = " ".join(finding["sentence"] for finding in result.to_dict()["findings"])
    assert "fitted row" not in whole
    mf.save(result, tmp_path / "model.npz")
    sample = mf.load(tmp_path / "model.npz")
    assert len(sample.main) < len(case.main)
    said = " ".join(finding["sentence"] for finding in sample.to_dict()["findings"])
    assert re.search(r"(Every|\d+) fitted rows? ", said), said


def test_what_all_references_are_worth_is_said_as_far_as_it_is_known(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert result.accepted
    result = with_evidence(result, measured=replace(result.evidence.measured, at_pairs=None))
    expected = {
        (0.012, 0.004, 60): "Your references are worth 1.2 ± 0.4 points beyond your own features and labels.",
        (0.002, 0.004, 60): "60 labelled rows cannot tell whether your references add anything (0.2 ± 0.4 points).",
        (-0.002, 0.004, 60): "60 labelled rows cannot tell whether your references add anything (-0.2 ± 0.4 points).",
        (
            -0.012,
            0.004,
            60,
        ): "Your references are probably worth less than nothing (-1.2 ± 0.4 points); try without them.",
        (0.012, 0.004, 8): "8 labelled rows are too few to tell what the references are worth.",
        (0.012, 0.004, 60, 3): "60 labelled rows, of which 3 have another label than the rest, are too few to tell",
    }
    for (value, error, rows, *others), sentence in expected.items():
        assert sentence in said_of(with_evidence(result, worth=Gain(value, error, rows, "accuracy", *others)))
    assert "Your references" not in said_of(with_evidence(result, worth=None))


def test_references_that_help_where_they_know_rows_are_not_to_be_left_out(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    helps = replace(result.evidence.measured, at_pairs=Gain(0.1, 0.02, 30, "accuracy"))
    loss = Gain(-0.012, 0.004, 60, "accuracy")
    first, *others = result.evidence.relevance
    found = with_evidence(
        result, worth=loss, measured=helps, relevance=RelevanceTable((replace(first, worth=loss), *others))
    )
    said = said_of(found)
    worth = "Your references are probably worth less than nothing at rows that they do not know (-1.2 ± 0.4 points)"
    assert f"{worth}; at rows that they know they help." in said
    assert "try without" not in said
    (of_worth,) = [each for each in findings_of(found.evidence, found.refined) if each.code == "worth"]
    assert of_worth.remedy is None
    assert f"Perhaps better left out, but for the rows that they know: “{first.name}”" in said
    assert "labelled rows, judged as if no reference knew them, imputing" in said
    chance = with_evidence(result, worth=Gain(0.002, 0.004, 60, "accuracy"), measured=helps)
    assert "add anything at rows that they do not know (0.2 ± 0.4 points)." in said_of(chance)


def test_a_gain_is_in_points_in_units_of_the_labels_or_a_correlation(case):
    for measure, text in {"accuracy": "1.2 ± 0.4 points", "rmse": "0.0120 ± 0.0040"}.items():
        gain = Gain(0.012, 0.004, 60, measure)
        assert gain.amount(signed=False) == text
        assert gain.amount(signed=True) == f"+{text}"
    for value, error, text in (
        (117.3, 8.72, "+117.3 ± 8.7"),
        (-1234.5, 123.4, "-1,234 ± 123"),
        (2e7, 3e6, "+2e+07 ± 3e+06"),
    ):
        assert Gain(value, error, 60, "rmse").amount(signed=True) == text
    assert Gain(-0.0001, 0.004, 60, "correlation").amount(signed=True) == "+0.0 ± 0.4 points"


@pytest.mark.parametrize("labelled, measure", [(True, "accuracy"), (False, "correlation")])
def test_a_gain_and_worths_say_what_they_are_of(labelled, measure):
    case = draw(0, features=False, references=4)
    result = mf.refine(case.main, case.references, case.labels() if labelled else None, rng=0)
    worths = [entry.worth for entry in result.relevance if entry.worth is not None]
    gains = [gain for gain in (result.gain, result.worth, *worths) if gain is not None]
    assert len(worths) >= 3
    assert {gain.measure for gain in gains} == {measure}
    unit = gains[0].unit.words
    assert f"worth: what is lost without it, {unit}" in repr(result.relevance)
    assert unit in result.relevance._repr_html_()


def test_what_was_taken_without_any_evidence_is_unmeasured(case):
    told, labels = mf.JointDiffusion(same_target=True), case.labels()
    assert is_unmeasured(mf.refine(case.main, case.references[:1], rng=0).evidence)
    assert is_unmeasured(mf.refine(case.main, case.references, method=told, rng=0).evidence)
    assert not is_unmeasured(mf.refine(case.main, case.references[:1], labels, rng=0).evidence)
    assert not is_unmeasured(mf.refine(case.main, case.references, labels, told, rng=0).evidence)


def test_intervals_are_those_of_the_standard_errors(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    rows = Shift.of(result).sample(20, after=True)
    assert (np.diff(result.scores[rows]) >= 0).all()
    ((low, high),) = draw_uncertainty(result, rows).axes[0].collections[0].get_segments()[3:4]
    np.testing.assert_allclose(low[1], result.scores[rows[3]] - 1.6449 * result.uncertainty[rows[3]])
    np.testing.assert_allclose(high[1], result.scores[rows[3]] + 1.6449 * result.uncertainty[rows[3]])


def test_what_references_are_worth_is_drawn_in_points_with_its_error(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    (axes,) = draw_worth(result, [1, 0]).axes
    expected = [result.relevance[1].worth, result.relevance[0].worth, result.worth]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([100 * gain.value for gain in expected])
    ends = [
        container.lines[2][0].get_segments()[0][:, 0] for container in axes.containers if hasattr(container, "lines")
    ]
    assert [np.ptp(end) / 2 for end in ends] == pytest.approx([100 * gain.standard_error for gain in expected])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["reference 2", "reference 1", "all together"]
