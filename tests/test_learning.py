"""Labels teach, references are asked, and both say what they are worth, on problems of known structure."""

import json
from dataclasses import replace

import numpy as np
import pytest

import manifuse as mf
from manifuse.columns.diffused import ROUNDS_ALONE
from manifuse.columns.run_order import SHARE
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Standing
from manifuse.kernels.sphere import unit
from tests.problems import draw, features_of, remade

REGRESSION = mf.JointDiffusion(task="regression")

#: References have a say, although permuted pairs do as well.
CHANCE = mf.JointDiffusion(diffusion=mf.Algorithm1(ignore_chance=False))


def hidden(case):
    """Rows without a label."""
    return np.setdiff1d(np.arange(len(case.main)), case.labelled)


def accuracy(case, predictions, rows=None):
    rows = hidden(case) if rows is None else rows
    return ranking_accuracy(case.truth[rows], np.asarray(predictions)[rows])


def noise_for(case, seed=0):
    """The references of a problem, with scores of pure noise."""
    rng = np.random.default_rng(seed)
    return [remade(each, predictions=rng.standard_normal(len(each))) for each in case.references]


def parted(case, count):
    """The main table without its first rows that are in no reference, and these rows."""
    paired = np.isin(case.main.keys, np.concatenate([each.keys for each in case.references]))
    rows = np.setdiff1d(np.flatnonzero(~paired), case.labelled)[:count]

    def part(kept):
        return remade(
            case.main,
            predictions=case.main.scores[kept],
            features=case.main.table[kept],
            ids=case.main.keys[kept],
        )

    return part(np.setdiff1d(np.arange(len(case.main)), rows)), part(rows), rows


def ordered_pairs(case, count, seed=0):
    """Labels by pairs of labelled rows, the better row first."""
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(case.labelled, 2, replace=False) for _ in range(count)])
    ends = np.array([pair if case.truth[pair[0]] > case.truth[pair[1]] else pair[::-1] for pair in ends])
    ends = np.unique(ends, axis=0)
    return mf.RankLabels.from_pairs(case.main.keys[ends[:, 0]], case.main.keys[ends[:, 1]])


def test_what_no_diffusion_can_know_is_learned_from_features():
    """The main predictor and the references have the same wrong idea, and the labels know better."""
    rng = np.random.default_rng(0)
    latent = rng.uniform(-1, 1, (300, 2))
    truth, wrong = latent @ [1.0, 0.7], latent @ [1.0, -0.7]
    keys, features = [f"m{row}" for row in range(300)], features_of(latent, rng)
    tables = [
        mf.Observations(wrong + 0.3 * rng.standard_normal(300), features, ids=keys, name=name)
        for name in ("main", "first", "second")
    ]
    labelled = rng.choice(300, 60, replace=False)
    labels = mf.RankLabels([keys[row] for row in labelled], truth[labelled])
    result = mf.refine(tables[0], tables[1:], labels, rng=0)
    others = np.setdiff1d(np.arange(300), labelled)
    assert ranking_accuracy(truth[others], tables[0].scores[others]) < 0.7
    assert ranking_accuracy(truth[others], result.predictions[others]) > 0.9


def test_a_predictor_and_labels_are_enough():
    case = draw(0)
    result = mf.refine(case.main, [], case.labels(), rng=0)
    assert result.accepted
    assert result.reason is Reason.TAUGHT
    assert result.relevance == ()
    assert result.worth is None
    assert result.weights.shape == (0,)
    np.testing.assert_array_equal(result.support, 0.0)
    assert accuracy(case, result.predictions) > accuracy(case, case.main.scores) + 0.1
    np.testing.assert_array_equal(result.apply(case.main), result.predictions)
    new = remade(case.main, ids=[f"new {row}" for row in range(160)])
    assert accuracy(case, result.apply(new)) > accuracy(case, case.main.scores) + 0.1


def test_scores_and_labels_alone_are_refused_unless_labels_give_units_or_calibrate():
    """Without features, a rising line is all there is to learn, and no rank changes."""
    case = draw(0, features=False)
    for labels in (case.labels(), mf.RankLabels.from_pairs(case.main.keys[:20], case.main.keys[20:40])):
        with pytest.raises(
            mf.InputError, match="no features and no reference came, so labels cannot change the order"
        ):
            mf.refine(case.main, [], labels)
    assert mf.refine(case.main, [], case.labels(), task="regression", rng=0).accepted
    risks = remade(case.main, predictions=1.0 / (1.0 + np.exp(-case.main.scores)), scale="probability")
    labels = mf.RankLabels(case.labels().keys, case.labels().grades > np.median(case.labels().grades))
    assert mf.refine(risks, [], labels, rng=0).evidence.measured is not None


def test_without_references_what_labels_taught_diffuses_over_the_own_graph_alone():
    case = draw(0)
    result = mf.refine(case.main, [], case.labels(), rng=0)
    fit = result.fitted_model.columns.diffused
    current, smoothed, origin = fit.coefficients.T
    assert 1 <= len(fit.coefficients) <= ROUNDS_ALONE
    assert (current > 0).all()
    assert (smoothed > 0).all()
    np.testing.assert_allclose(origin, 0.0, atol=1e-12)
    assert result.course.share == SHARE
    # Each round by itself: the graph is weighed by the present predictions, which take their average with it.
    present = fit.start
    for each, (one, other, _) in zip(fit.rounds, fit.coefficients, strict=True):
        np.testing.assert_allclose(each.start, present, atol=1e-12)
        average = fit.bridges.arrive(present).smoothed.values[:, 0]
        present = unit(one * present + other * unit(average))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("features", [False, True])
def test_what_all_references_are_worth_is_the_gain_with_them_less_the_gain_without(seed, features):
    """Without features they are worth much, with these next to nothing. Worth leaves the diffusion out."""
    case = draw(seed, features=features)
    taught = mf.refine(case.main, case.references, case.labels(), rng=0)
    alone = mf.refine(case.main, [], case.labels(), rng=0).gain.value if features else 0.0
    assert (taught.worth.value > 0.1) is not features
    assert taught.worth.value == pytest.approx(taught.gain.value - alone, abs=0.035)


def test_references_that_are_not_followed_have_no_weight_but_may_teach():
    case = draw(0, features=False)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    refused = mf.refine(case.main, case.references, case.labels(), mf.JointDiffusion(same_target=False), rng=0)
    assert result.weights.all()
    assert not refused.weights.any()
    result = refused
    assert result.worth.is_certain


def test_without_references_and_labels_there_is_nothing_to_do():
    case = draw(0)
    with pytest.raises(mf.InputError, match="No reference and no labels came"):
        mf.refine(case.main, [])


def test_with_references_worth_nothing_own_features_and_labels_still_gain():
    for seed in range(3):
        case = draw(seed)
        noise = noise_for(case, seed)
        method = CHANCE
        result = mf.refine(case.main, noise, case.labels(), method, rng=0)
        alone = mf.refine(case.main, [], case.labels(), rng=0)
        assert result.reason is Reason.TAUGHT
        assert accuracy(case, result.predictions) > accuracy(case, alone.predictions) - 0.02
        assert accuracy(case, result.predictions) > accuracy(case, case.main.scores) + 0.08
        for worth in (result.worth, *(entry.worth for entry in result.relevance)):
            assert abs(worth.value) <= max(2 * worth.standard_error, 0.005)


def test_where_references_are_noise_the_labels_still_teach():
    case = draw(0)
    result = mf.refine(case.main, noise_for(case), case.labels(), rng=0)
    alone = mf.refine(case.main, [], case.labels(), rng=0)
    assert result.reason is Reason.TAUGHT
    assert not any(entry.worth.is_clear for entry in result.relevance)
    np.testing.assert_allclose(accuracy(case, result.predictions), accuracy(case, alone.predictions), atol=0.02)


def test_a_good_reference_is_worth_something_and_the_others_less():
    case = draw(3, features=False, references=1)
    rng = np.random.default_rng(0)
    poor = [
        mf.Observations(case.truth + 3.0 * rng.standard_normal(160), ids=case.main.keys, name=f"poor {k}")
        for k in range(2)
    ]
    result = mf.refine(case.main, [*case.references, *poor], case.labels(), CHANCE, rng=0)
    good, *others = (entry.worth for entry in result.relevance)
    assert good.value > 2 * good.standard_error > 0
    assert all(good.value > other.value for other in others)
    assert result.worth.value >= good.value - 2 * good.standard_error


@pytest.mark.parametrize("labelled", [False, True])
def test_later_rows_come_out_nearly_as_well_as_if_they_had_been_there(labelled):
    method = mf.JointDiffusion(same_target=True)
    losses = []
    for seed in range(4):
        case = draw(seed, rows=300, pairs=60)
        fitted, new, rows = parted(case, 80)
        labels = case.labels() if labelled else None
        applied = mf.refine(fitted, case.references, labels, method, rng=0).apply(new)
        refitted = mf.refine(case.main, case.references, labels, method, rng=0).predictions
        losses.append(accuracy(case, refitted, rows) - ranking_accuracy(case.truth[rows], applied))
        assert ranking_accuracy(case.truth[rows], applied) > accuracy(case, case.main.scores, rows)
    assert np.mean(losses) < 0.01


@pytest.mark.filterwarnings("ignore:.* differs from the fitted rows:manifuse.ManifuseWarning")
def test_errors_are_larger_far_from_all_that_was_fitted():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    near = remade(case.main, ids=[f"new {row}" for row in range(160)])
    far = remade(near, features=case.main.table + 30.0)
    assert np.median(result.apply_in_full(near).uncertainty) == pytest.approx(np.median(result.uncertainty), rel=0.2)
    assert result.apply_in_full(far).uncertainty.min() > 1.5 * np.median(result.uncertainty)
    np.testing.assert_array_equal(result.apply_in_full(case.main).uncertainty, result.uncertainty)


def test_orders_come_true_as_often_as_their_probability_says():
    said, true = [], []
    for seed in range(4):
        case = draw(seed, rows=300, pairs=60)
        result = mf.refine(case.main, case.references, case.labels(), rng=0)
        rng = np.random.default_rng(seed)
        first, second = (rng.choice(hidden(case), 2000) for _ in range(2))
        said.append(result.probability(case.main.keys[first], case.main.keys[second]))
        true.append(case.truth[first] > case.truth[second])
    said, true = np.concatenate(said), np.concatenate(true)
    for low in (0.5, 0.7, 0.9):
        among = (said >= low) & (said < low + 0.2)
        assert true[among].mean() == pytest.approx(said[among].mean(), abs=0.1)


def test_probabilities_of_both_orders_add_up_and_need_labels_and_known_ids():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    one, other = result.probability(["m1", "m2"], ["m3", "m4"]), result.probability(["m3", "m4"], ["m1", "m2"])
    np.testing.assert_allclose(one + other, 1.0)
    assert ((one > 0.5) == (result.scores[[1, 2]] > result.scores[[3, 4]])).all()
    with pytest.raises(mf.InputError, match="main has no row with the id"):
        result.probability(["m1", "stranger"], ["m3", "m4"])
    with pytest.raises(mf.InputError, match="2 first and 1 second ids came"):
        result.probability(["m1", "m2"], ["m3"])
    unlabelled = mf.refine(case.main, case.references, rng=0)
    assert unlabelled.uncertainty is None
    with pytest.raises(mf.InputError, match="no standard errors, because no labels came"):
        unlabelled.probability(["m1"], ["m2"])
    refused = mf.refine(case.main, [], mf.RankLabels(case.labels().keys, -case.labels().grades), rng=0)
    assert not refused.accepted
    with pytest.raises(mf.InputError, match="because what labels taught was refused"):
        refused.probability(["m1"], ["m2"])
    events = np.isin(np.arange(len(case.labels().keys)), (0, 1)).astype(float)
    few = mf.refine(case.main, case.references, mf.RankLabels(case.labels().keys, events), rng=0)
    assert few.accepted
    assert few.uncertainty is None
    with pytest.raises(mf.InputError, match="because there are too few labels"):
        few.probability(["m1"], ["m2"])


def test_ordered_pairs_teach():
    gains = []
    for seed in range(3):
        case = draw(seed)
        result = mf.refine(case.main, [], ordered_pairs(case, 300, seed), rng=0)
        assert result.reason is Reason.TAUGHT
        assert np.isfinite(result.uncertainty).all()
        gains.append(accuracy(case, result.predictions) - accuracy(case, case.main.scores))
    assert min(gains) > 0.05


def test_intervals_of_a_regression_cover_what_they_say():
    covered = []
    for seed in range(4):
        case = draw(seed, rows=300, pairs=60)
        rng = np.random.default_rng(seed)
        rows = rng.choice(300, 100, replace=False)
        measured = case.truth + 0.1 * rng.standard_normal(300)
        labels = mf.RankLabels(case.main.keys[rows], measured[rows])
        result = mf.refine(case.main, case.references, labels, REGRESSION, rng=0)
        others = np.setdiff1d(np.arange(300), rows)
        covered.append(np.abs(result.scores[others] - measured[others]) <= 1.6449 * result.uncertainty[others])
    assert 0.8 <= np.mean(covered) <= 0.97


def test_the_gain_on_held_out_labels_is_the_gain_on_other_rows():
    reported, true = [], []
    for seed in range(12):
        case = draw(seed, noise=0.5)
        labels = mf.RankLabels(case.main.keys[:60], case.truth[:60])
        result = mf.refine(case.main, case.references, labels, rng=0)
        rows = np.arange(60, 160)
        reported.append(result.gain.value)
        true.append(accuracy(case, result.predictions, rows) - accuracy(case, case.main.scores, rows))
    difference = np.subtract(reported, true)
    assert abs(difference.mean()) < max(3 * difference.std(ddof=1) / np.sqrt(12), 0.01)


@pytest.mark.parametrize("features", [True, False], ids=["decoupled", "coupled"])
def test_what_is_loaded_applies_to_the_last_bit(features, tmp_path):
    case = draw(1, features=features)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    mf.save(result, tmp_path / "model.npz")
    new = remade(case.main, predictions=case.main.scores + 0.1, ids=[f"new {row}" for row in range(160)])
    applied, again = result.apply_in_full(new), mf.load(tmp_path / "model.npz").apply_in_full(new)
    for name in ("scores", "support", "uncertainty"):
        np.testing.assert_array_equal(getattr(again, name), getattr(applied, name))


def test_the_order_of_rows_labels_and_references_changes_nothing_but_rounding():
    case = draw(4, references=3)
    method = CHANCE
    order = np.random.default_rng(0).permutation(160)
    shuffled = remade(
        case.main, predictions=case.main.scores[order], features=case.main.table[order], ids=case.main.keys[order]
    )
    backwards = mf.RankLabels(case.main.keys[case.labelled][::-1], case.truth[case.labelled][::-1])
    result = mf.refine(case.main, case.references, case.labels(), method, rng=0)
    again = mf.refine(shuffled, case.references[::-1], backwards, method, rng=0)
    np.testing.assert_allclose(again.scores, result.scores[order], atol=1e-6)
    np.testing.assert_allclose(again.uncertainty, result.uncertainty[order], rtol=1e-3)
    assert again.worth.value == pytest.approx(result.worth.value, abs=1e-6)
    for one, other in zip(again.relevance[::-1], result.relevance, strict=True):
        assert one.worth.value == pytest.approx(other.worth.value, abs=1e-6)


def test_references_are_asked_and_answer():
    """Three coupled references of the same truth agree, of another one differ, and the user is believed."""
    rng = np.random.default_rng(0)
    truth, other = rng.standard_normal((2, 400))
    keys = [f"m{row}" for row in range(400)]

    def seen(target, name):
        return mf.Observations(target + 0.8 * rng.standard_normal(400), ids=keys, name=name)

    main = seen(truth, "main")
    same, wrong = ([seen(target, name) for name in ("A", "B", "C")] for target in (truth, other))
    method = CHANCE
    agreed = mf.refine(main, same, method=method, rng=0)
    assert (agreed.reason, agreed.accepted) == (Reason.AGREE, True)
    assert ranking_accuracy(truth, agreed.predictions) > ranking_accuracy(truth, main.scores) + 0.03
    assert agreed.worth.value > agreed.worth.standard_error
    refused = mf.refine(main, wrong, method=method, rng=0)
    assert (refused.reason, refused.accepted) == (Reason.DIFFER, False)
    np.testing.assert_array_equal(refused.predictions, main.scores)
    told = mf.refine(main, wrong, method=replace(method, same_target=True), rng=0)
    assert (told.reason, told.accepted) == (Reason.TOLD, True)
    assert ranking_accuracy(truth, told.predictions) < ranking_accuracy(truth, main.scores)


@pytest.mark.parametrize("labelled", [0, 40])
def test_a_reference_that_predicts_something_else_is_not_followed(labelled):
    """The others are followed as if it had not come, and the result names it."""
    rng = np.random.default_rng(4)
    truth, other = rng.standard_normal((2, 400))
    keys = [f"m{row}" for row in range(400)]

    def seen(target, name):
        return mf.Observations(target + 0.8 * rng.standard_normal(400), ids=keys, name=name)

    main, same = seen(truth, "main"), [seen(truth, name) for name in ("A", "B", "C")]
    labels = mf.RankLabels(keys[:labelled], truth[:labelled]) if labelled else None
    method = CHANCE
    found = mf.refine(main, [*same, seen(other, "odd")], labels, method, rng=0)
    without = mf.refine(main, same, labels, method, rng=0)
    assert found.evidence.agreement.differing.tolist() == [False, False, False, True]
    assert found.relevance["odd"].standing is (Standing.DIFFERS if labels is None else Standing.TAUGHT)
    assert found.accepted
    assert found.weights[3] == 0.0 < found.weights[:3].min()
    assert "Not followed: “odd”; it predicts something else." in found.summary()
    if labels is None:
        np.testing.assert_allclose(found.predictions, without.predictions, rtol=1e-9)
    else:
        # The labels may learn from it, and what it is worth is measured.
        assert np.corrcoef(found.predictions, without.predictions)[0, 1] > 0.99
        assert abs(found.relevance["odd"].worth.value) < 0.01 < found.relevance["A"].worth.value + 0.01


def test_labels_that_speak_against_the_references_are_heard():
    """The user says that references of another target predict the same. The labels know better."""
    rng = np.random.default_rng(1)
    truth, other = rng.standard_normal((2, 300))
    keys = [f"m{row}" for row in range(300)]
    main = mf.Observations(truth + 0.3 * rng.standard_normal(300), ids=keys, name="main")
    wrong = [mf.Observations(other + 0.3 * rng.standard_normal(300), ids=keys, name=name) for name in ("A", "B", "C")]
    method = replace(CHANCE, same_target=True)
    labels = mf.RankLabels(keys[:80], truth[:80])
    blind, seeing = (mf.refine(main, wrong, given, method, rng=0).predictions for given in (None, labels))
    loss, smaller = (ranking_accuracy(truth, main.scores) - ranking_accuracy(truth, p) for p in (blind, seeing))
    assert loss > 0.05
    assert smaller < 0.3 * loss


def test_what_was_found_can_be_written_as_json():
    case = draw(0)
    for labels, references in ((None, case.references), (case.labels(), case.references), (case.labels(), [])):
        text = json.dumps(mf.refine(case.main, references, labels, rng=0).to_dict(), allow_nan=False)
        assert {"worth", "agreement", "references"} <= json.loads(text).keys()
        # What was not measured is null.
        assert '"nan"' not in text


def test_labels_in_a_regular_order_teach_as_in_any_other():
    """Case, control, case, control ...: of many labels only some decide, and these must not be all cases."""
    rng = np.random.default_rng(5)
    grades = np.tile([0.0, 1.0], 350)
    features = np.column_stack([grades + 0.8 * rng.standard_normal(700), rng.standard_normal(700)])
    ours = mf.Observations(grades + 1.5 * rng.standard_normal(700), features, ids=[f"{row:03}" for row in range(700)])
    order = rng.permutation(600)
    found, shuffled = (mf.refine(ours, [], mf.RankLabels(ours.keys[i], grades[i]), rng=0) for i in (range(600), order))
    assert np.isfinite(found.uncertainty).all()
    assert found.uncertainty.min() > 0
    np.testing.assert_array_equal(found.predictions, shuffled.predictions)
    np.testing.assert_array_equal(found.uncertainty, shuffled.uncertainty)


@pytest.mark.parametrize("labelled", [0, 40])
def test_the_order_of_many_rows_changes_nothing_but_rounding(labelled):
    """Of more than 300 rows only some measure distances."""
    case = draw(0, rows=400, pairs=60)
    order = np.random.default_rng(0).permutation(400)
    labels = mf.RankLabels(case.main.keys[:labelled], case.truth[:labelled]) if labelled else None
    moved = mf.Observations(case.main.scores[order], case.main.table[order], ids=case.main.keys[order], name="main")
    method = mf.JointDiffusion(same_target=True)
    found, other = (mf.refine(main, case.references, labels, method, rng=0) for main in (case.main, moved))
    np.testing.assert_allclose(other.predictions, found.predictions[order], rtol=1e-6, atol=1e-6)


def test_where_nothing_diffuses_nothing_is_mixed():
    """Without references and without features the diffusion has no edge."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        truth = rng.standard_normal(60)
        ours = mf.Observations(truth + rng.standard_normal(60), ids=range(60))
        labels = mf.RankLabels(range(20), truth[:20])
        assert mf.refine(ours, [], labels, mf.JointDiffusion(task="regression"), rng=0).course.share == 0.0


def test_a_reference_that_takes_no_part_says_nothing_of_later_rows():
    """Without features, a row that only such a reference knows has the place of its own score."""
    noise = mf.Observations(
        np.random.default_rng(9).standard_normal(500), ids=[f"r{row}" for row in range(500)], name="noise"
    )
    plain, more = (coupled(np.random.default_rng(2), extra) for extra in ([], [noise]))
    np.testing.assert_allclose(more, plain, rtol=1e-9)


def coupled(rng, extra):
    """Later scores, refined by three coupled references that do not know them, and by more."""
    truth = rng.standard_normal(500)
    ids = [f"r{row}" for row in range(500)]
    main = truth + rng.standard_normal(500)
    references = [
        mf.Observations(truth[:300] + 0.5 * rng.standard_normal(300), ids=ids[:300], name=f"reference {number}")
        for number in range(3)
    ]
    ours = mf.Observations(main[:300], ids=ids[:300], name="main")
    method = mf.JointDiffusion(same_target=True, ignored=tuple(each.name for each in extra))
    result = mf.refine(ours, [*references, *extra], method=method, rng=0)
    assert result.accepted
    assert len(result.weights) == 3 or result.weights[3] == 0
    return result.apply(mf.Observations(main[300:], ids=ids[300:], name="later"))


def test_scores_of_a_regression_in_other_units_are_brought_into_those_of_the_labels():
    """The unit of scores does not change what a regression finds, nor what its gain says, if it is another one."""
    case = draw(0, references=2)
    labels = mf.RankLabels(case.main.keys[case.labelled], 50.0 + 7.0 * case.truth[case.labelled])
    found = []
    for scale, offset in ((1.0, 0.0), (3.0, 1000.0), (0.01, -5.0)):
        main = remade(case.main, predictions=offset + scale * case.main.scores)
        result = mf.refine(main, case.references, labels, task="regression", rng=0)
        assert result.accepted
        assert result.evidence.measured.in_other_units
        assert "brought into units of the labels by a line" in " ".join(result.summary().split())
        found.append(result)
    for other in found[1:]:
        np.testing.assert_allclose(other.scores, found[0].scores, rtol=1e-4)
        assert other.gain.value == pytest.approx(found[0].gain.value, rel=1e-3)
    # The line alone is what the gain is counted from.
    own, target = case.main.scores[case.labelled], labels.grades
    spread = np.std(target - np.polyval(np.polyfit(own, target, 1), own))
    assert spread < found[0].accuracy.before < 1.2 * spread
    usual = mf.refine(
        remade(case.main, predictions=50.0 + 3.0 * case.main.scores), [], labels, task="regression", rng=0
    )
    assert not usual.evidence.measured.in_other_units


def test_a_main_predictor_of_noise_is_not_said_to_be_turned_around_by_chance():
    """What labels and a good reference show correlates with it by chance, below 0 in half of the problems."""
    reasons = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        truth, noise = rng.standard_normal((2, 200))
        features = np.column_stack([truth + rng.standard_normal(200), rng.standard_normal(200)])
        main = mf.Observations(noise, features, ids=range(200), name="ours")
        known = rng.choice(200, 100, replace=False)
        theirs = mf.Observations(truth[known] + 0.3 * rng.standard_normal(100), ids=known, name="theirs")
        reasons.append(mf.refine(main, [theirs], mf.RankLabels(range(60), truth[:60]), rng=0).reason)
    # An error below 0 is it in a sixth.
    assert reasons.count(Reason.REVERSED) <= 3
