"""Whether predictors share one factor, how much each reference counts, and which differ."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr
from tests.problems import draw

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.agreement import PRESUMED, PRESUMED_WITH_LABELS, ask
from manifuse.evidence.one_factor import (
    MOST_LOADING,
    correlation,
    correlation_and_influence,
    correlations,
    left_out,
    loadings_of,
    loadings_towards_usual,
    shrunk,
)
from manifuse.evidence.reason import Reason


def scores(rng, loadings, rows=400, truth=None):
    """Predictors with these loadings on one truth, shape (rows, k, 1)."""
    truth = rng.standard_normal(rows) if truth is None else truth
    noise = rng.standard_normal((rows, len(loadings)))
    loadings = np.array(loadings)
    return (truth[:, None] * loadings + noise * np.sqrt(1.0 - loadings**2))[:, :, None]


def answer(columns, same_target=None, **rest):
    known = columns[:, 1:]
    imputed = np.nan_to_num(known)
    return ask(columns[:, 0], known, imputed, same_target=same_target, **rest)


def test_references_count_more_where_labels_would_show_harm(rng):
    columns = scores(rng, (0.5, 0.7, 0.6, 0.8))
    without, with_labels = answer(columns), answer(columns, harm_shown=1.0)
    loadings = loadings_of(correlations(columns, np.nan_to_num(columns[:, 1:]))[0])
    loading = shrunk(loadings, 400.0)[0]
    own = loading / (1.0 - loading**2)
    ratio = (own + PRESUMED) / (own + PRESUMED_WITH_LABELS)
    np.testing.assert_allclose(with_labels.pulls, ratio * without.pulls)
    # In between, the number that is presumed is.
    half = answer(columns, harm_shown=0.5)
    np.testing.assert_allclose(1.0 / half.pulls, (1.0 / without.pulls + 1.0 / with_labels.pulls) / 2.0)
    assert ratio > 1.2


def test_references_count_more_beside_a_classifier_that_is_sure(rng):
    columns = scores(rng, (0.5, 0.7, 0.6, 0.8))
    one, sure = answer(columns), answer(columns, sureness=2.5)
    np.testing.assert_allclose(sure.pulls, 2.5 * one.pulls)
    assert sure.loadings.tolist() == one.loadings.tolist()


@pytest.mark.parametrize("own, parts", [(0.1, True), (0.8, False)])
def test_references_that_share_no_pair_and_that_own_scores_do_not_confirm_may_be_parts_of_one(rng, own, parts):
    columns = scores(rng, (own, 0.95, 0.95))
    columns[:, 2] = columns[:, 1]
    imputed = columns[:, 1:].copy()
    columns[:200, 1] = columns[200:, 2] = np.nan
    _, alike, *_ = correlations(columns, imputed)
    assert bool(alike[1, 2] == alike[2, 1] == 1.0) is parts
    pulls = ask(columns[:, 0], columns[:, 1:], imputed, same_target=None).pulls
    whole = ask(columns[:, 0], imputed[:, :1], imputed[:, :1], same_target=None).pulls
    # Parts count together about as much as the whole does. If each were a voice, own scores would hardly count.
    assert pulls.sum() < 1.3 * whole.sum()


def test_near_copies_count_as_one(rng):
    columns = scores(rng, (0.5, 0.7, 0.6, 0.8), rows=150)
    copies = columns[:, 2:3] + 1.0 + 1e-9 * rng.standard_normal((2, 150, 1, 1))
    one, three = answer(columns), answer(np.concatenate([columns, *copies], axis=1)[:, [0, 4, 1, 5, 2, 3]])
    np.testing.assert_allclose(three.pulls[[1, 3, 4]], one.pulls / [1, 3, 1], rtol=1e-6)
    np.testing.assert_allclose(three.pulls[[0, 2]], three.pulls[3])
    np.testing.assert_allclose(three.loadings[[0, 2, 4, 5]], one.loadings, rtol=1e-6)
    # A copy says nothing of the reference that it repeats.
    kept = three.gain.value * 5 - one.gain.value * 3
    assert kept == pytest.approx(2 * _gain_on(columns, one.pulls, 1), abs=1e-3)
    assert three.answer is one.answer is Reason.AGREE


def _gain_on(columns, pulls, number):
    """How much better the main predictor and the other references predict one than the main predictor does."""
    said = np.einsum("nmc,m->nc", np.delete(columns[:, 1:], number, axis=1), np.delete(pulls, number))
    own, truth = columns[:, 0], columns[:, 1 + number]
    return correlation(own + said, truth) - correlation(own, truth)


def test_two_copies_are_one_reference_of_which_nothing_is_asked(rng):
    columns = scores(rng, (0.6, 0.8), rows=150)
    copied = np.concatenate([columns, columns[:, 1:] - 2.0], axis=1)
    assert answer(copied).answer is answer(columns).answer is Reason.ASSUMED
    np.testing.assert_allclose(answer(copied).pulls, np.repeat(answer(columns).pulls / 2.0, 2))


def test_versions_of_one_model_share_what_one_counts(rng):
    columns = scores(rng, (0.5, 0.7, 0.6, 0.7))
    versions = columns[:, 3:] + 0.2 * rng.standard_normal((400, 2, 1))
    one, three = answer(columns), answer(np.concatenate([columns, versions], axis=1))
    assert np.corrcoef(columns[:, 3, 0], versions[:, 0, 0])[0, 1] < 0.985
    np.testing.assert_allclose(three.pulls[2:], three.pulls[2])
    assert three.pulls[2:].sum() == pytest.approx(one.pulls[2], rel=0.1)
    np.testing.assert_allclose(three.pulls[:2], one.pulls[:2], rtol=0.1)


def test_references_that_are_alike_because_they_are_good_count_each(rng):
    columns = scores(rng, (0.6, 0.6, 0.98, 0.98))
    assert np.corrcoef(columns[:, 2, 0], columns[:, 3, 0])[0, 1] > 0.9
    both, one = answer(columns).pulls, answer(columns[:, :3]).pulls
    assert both[1:].sum() > 1.5 * one[1]


@pytest.mark.parametrize("others", [(0.6,), (0.6, 0.0)])
def test_what_alike_references_share_is_not_known_unless_two_others_agree(others, rng):
    columns = scores(rng, (*others, 0.97))
    more = columns[:, -1:] + 0.2 * rng.standard_normal((400, 2, 1))
    one, three = answer(columns), answer(np.concatenate([columns, more], axis=1))
    assert three.pulls[-3:].sum() > 1.5 * one.pulls[-1]


@pytest.mark.parametrize("loadings", [(0.9, 0.5, 0.7, 0.3), (0.2, 0.9, 0.8, 0.95, 0.6), (0.8, -0.4, 0.7)])
def test_loadings_are_found_from_exact_correlations(loadings):
    correlated = np.outer(loadings, loadings)
    np.fill_diagonal(correlated, 1.0)
    np.testing.assert_allclose(loadings_of(correlated), loadings, atol=1e-3)


def test_loadings_shrink_to_the_usual_with_few_pairs_and_are_themselves_with_many():
    loadings = np.array([0.2, 0.75, -0.5])
    assert np.ptp(shrunk(loadings, 0.0)) == pytest.approx(0.0)
    np.testing.assert_allclose(shrunk(loadings, 1e9), [0.2, 0.75, 0.1], atol=1e-6)
    assert shrunk(np.array([0.999]), 1e9)[0] == MOST_LOADING


def test_correlations_of_references_that_do_not_agree_are_drawn_to_usual_ones():
    """As many pairs as count before any is seen: each correlation moves half of the way."""
    correlated = np.eye(4)
    correlated[0, 1:] = correlated[1:, 0] = [0.05, -0.02, 0.08]
    correlated[1, 2:] = correlated[2:, 1] = [0.02, -0.1]
    correlated[2, 3] = correlated[3, 2] = 0.04
    half = (correlated + 0.36) / 2.0
    np.fill_diagonal(half, 1.0)
    np.testing.assert_allclose(loadings_towards_usual(correlated, 100.0), loadings_of(half))
    np.testing.assert_allclose(loadings_towards_usual(correlated, 0.0), 0.6, atol=1e-6)
    assert loadings_of(correlated).max() > 0.9
    found = loadings_towards_usual(np.outer([0.99, 0.9, 0.01], [0.99, 0.9, 0.01]), 1e12)
    np.testing.assert_allclose(found, [MOST_LOADING, MOST_LOADING, 0.1], atol=1e-3)


@pytest.mark.parametrize("seed", [7002, 7031, 7053])
def test_noise_never_becomes_the_truth(seed):
    """One of three correlated with the others by chance, and one factor took it for what all have in common."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((300, 4))
    truth = features @ rng.standard_normal(4) / 2 + 0.3 * rng.standard_normal(300)
    truth /= truth.std()
    main = mf.Observations(0.9 * truth + 0.19**0.5 * rng.standard_normal(300), features, ids=range(300), name="ours")
    others = []
    for name in "abc":
        rows, noise = rng.permutation(300)[:120], rng.standard_normal(300)
        others.append(mf.Observations(noise[rows], ids=rows, name=name))
    result = mf.refine(main, others, rng=0)
    assert result.reason is Reason.UNCLEAR
    # It was 1.02 to 1.09, and 8 points were lost.
    assert result.weights.max() < 0.6
    assert ranking_accuracy(truth, result.scores) > ranking_accuracy(truth, main.scores) - 0.04


def test_correlations_are_of_ranks_at_the_rows_that_both_know(rng):
    columns = scores(rng, (0.8, 0.7, 0.9))
    columns[100:, 1], columns[:50, 2] = np.nan, np.nan
    columns[7, 1] = 1e9
    found, _, shared, _ = correlations(columns, np.zeros((400, 2, 1)))
    own, first, second = columns[:, :, 0].T
    ranks = [rankdata(each, nan_policy="omit") for each in (own, first, second)]
    assert found[0, 1] == pytest.approx(np.corrcoef(ranks[0][:100], ranks[1][:100])[0, 1])
    assert found[0, 2] == pytest.approx(np.corrcoef(ranks[0][50:], ranks[2][50:])[0, 1])
    assert found[1, 2] == pytest.approx(np.corrcoef(ranks[1][50:100], ranks[2][50:100])[0, 1])
    np.testing.assert_array_equal(found, found.T)
    assert shared == 50


def test_of_whole_columns_they_are_those_of_spearman(rng):
    columns = scores(rng, (0.8, 0.7, 0.9))
    found, *_ = correlations(columns, np.zeros((400, 2, 1)))
    np.testing.assert_allclose(found, spearmanr(columns[:, :, 0]).statistic, atol=1e-12)


def test_log_ratios_correlate_as_one_point_in_whatever_coordinates(rng):
    columns = np.concatenate([scores(rng, (0.8, 0.7, 0.9)), scores(rng, (0.3, 0.9, 0.6))], axis=2)
    columns[300:, 2] = np.nan
    turn, _ = np.linalg.qr(rng.standard_normal((2, 2)))
    found, turned = (correlations(each, np.zeros((400, 2, 2)))[0] for each in (columns, columns @ turn))
    np.testing.assert_allclose(turned, found, atol=1e-12)
    assert found[0, 2] == pytest.approx(correlation(columns[:300, 0], columns[:300, 2]))


@pytest.mark.parametrize("width", [1, 2])
def test_a_constant_column_correlates_with_nothing(rng, width):
    columns = np.repeat(scores(rng, (0.8, 0.7, 0.9)), width, axis=2)
    columns[:100, 1], columns[100:, 1] = 0.1, np.nan
    found, *_ = correlations(columns, np.zeros((400, 2, width)))
    np.testing.assert_array_equal(found[1], [0.0, 1.0, 0.0])


def test_a_column_that_is_constant_where_two_meet_tells_nothing_there(rng):
    columns = scores(rng, (0.8, 0.7, 0.9))
    columns[:50, 1], columns[200:, 1], columns[50:, 2] = 0.3, np.nan, np.nan
    found, *_ = correlations(columns, np.zeros((400, 2, 1)))
    assert found[1, 2] == 0.0
    assert found[0, 1] > 0.1


def test_references_that_share_few_of_their_pairs_are_compared_by_what_is_imputed(rng):
    columns = scores(rng, (0.8, 0.8, 0.8))
    imputed = columns[:, 1:].copy()
    columns[:, 1:] = np.nan
    columns[:100, 1], columns[80:180, 2] = imputed[:100, 0], imputed[80:180, 1]
    found, _, shared, with_main = correlations(columns, imputed)
    assert shared == with_main == 100
    assert found[1, 2] != pytest.approx(
        np.corrcoef(*(rankdata(each[80:100, 0]) for each in imputed.swapaxes(0, 1)))[0, 1]
    )
    columns[:100, 1], columns[50:150, 2] = imputed[:100, 0], imputed[50:150, 1]
    columns[150:, 2] = np.nan
    assert correlations(columns, imputed)[2:] == (50, 100)


def test_versions_of_one_model_are_alike_where_they_share_few_pairs(rng):
    """Their scores are known at the pairs of one each, and what is imputed of them elsewhere is noise."""
    own, version, *others = scores(rng, (0.6, 0.9, 0.7, 0.7)).swapaxes(0, 1)
    columns = np.full((400, 5, 1), np.nan)
    columns[:, 0], columns[:, 3], columns[:, 4] = own, *others
    columns[:100, 1], columns[80:180, 2] = version[:100], version[80:180] + 0.01 * rng.standard_normal((100, 1))
    imputed = np.concatenate([version[:, None], version[:, None], columns[:, 3:]], axis=1)
    imputed[:, :2] += rng.standard_normal((400, 2, 1))
    found, alike, *_ = correlations(columns, imputed)
    there = np.corrcoef(rankdata(columns[:100, 1])[80:], rankdata(columns[80:180, 2])[:20])[0, 1]
    assert alike[1, 2] == pytest.approx(there - 2.0 * (1.0 - there**2) / np.sqrt(19))
    assert found[1, 2] < 0.8
    np.testing.assert_array_equal(np.delete(alike, 1, 0)[:, 2:], np.delete(found, 1, 0)[:, 2:])
    asked = ask(own, columns[:, 1:], imputed, same_target=None)
    apart = ask(own, columns[:, [2, 3, 4]], imputed[:, 1:], same_target=None)
    assert asked.pulls_without_labels[0] == asked.pulls_without_labels[1], "they share what one of them counts"
    assert asked.pulls_without_labels[0] < 0.75 * apart.pulls_without_labels[0]
    columns[:92, 1] = np.nan
    found, alike, *_ = correlations(columns, imputed)
    assert alike[1, 2] == found[1, 2], "8 are too few"


@pytest.mark.parametrize("same_target", [None, True])
@pytest.mark.parametrize("first", [30, 46])
@pytest.mark.parametrize("loadings", [(0.7, -0.95, -0.95), (0.5, -0.8, -0.8)])
def test_two_references_that_are_each_opposed_are_so_together(loadings, first, same_target):
    """Whatever rows they share."""
    opposed = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        own, *others = scores(rng, loadings).swapaxes(0, 1)
        held_out, known = np.stack(others, axis=1), np.full((400, 2, 1), np.nan)
        known[:60, 0], known[first : first + 60, 1] = others[0][:60], others[1][first : first + 60]
        alone = [ask(own, known[:, [k]], held_out[:, [k]], same_target=same_target) for k in (0, 1)]
        if all(each.answer is Reason.OPPOSED for each in alone):
            opposed += 1
            assert ask(own, known, held_out, same_target=same_target).answer is Reason.OPPOSED
    assert opposed > 30


def test_references_without_common_pairs_are_compared_by_what_is_imputed(rng):
    columns = scores(rng, (0.8, 0.8, 0.8))
    imputed = columns[:, 1:].copy()
    columns[200:, 1], columns[:200, 2] = np.nan, np.nan
    found, *_ = correlations(columns, imputed)
    first, second = (rankdata(each) for each in imputed[:, :, 0].T)
    ways = [
        np.corrcoef(rankdata(imputed[:200, 0, 0]), second[:200])[0, 1],
        np.corrcoef(first[200:], rankdata(imputed[200:, 1, 0]))[0, 1],
    ]
    assert found[1, 2] == pytest.approx(np.mean(ways))


def test_three_of_one_truth_agree_and_better_ones_count_more(rng):
    found = answer(scores(rng, (0.5, 0.4, 0.7, 0.9)))
    assert found.answer is Reason.AGREE
    assert (np.diff(found.pulls) > 0).all()
    assert found.gain.value > found.gain.standard_error


def test_the_influence_of_rows_on_a_correlation_gives_its_standard_error(rng):
    first = rng.standard_normal((200, 2))
    second = first + rng.standard_normal((200, 2))
    found, influence = correlation_and_influence(first, second)
    assert found == pytest.approx(correlation(first, second))
    assert influence.sum() == pytest.approx(0.0, abs=1e-12)
    samples = [correlation(first[rows], second[rows]) for rows in rng.integers(200, size=(1000, 200))]
    assert np.sqrt(np.sum(influence**2)) == pytest.approx(np.std(samples), rel=0.1)
    assert not correlation_and_influence(first, np.ones((200, 2)))[1].any()


def test_errors_at_held_out_pairs_are_those_of_the_pairs_which_are_learned_from_nearly_all_others(rng):
    columns = scores(rng, (0.5, 0.7, 0.6, 0.8), rows=300)
    own, known = columns[:, 0], columns[:, 1:]
    pulls, copies = np.array([0.5, 0.4, 0.6]), np.arange(3)

    def gains(rows):
        found = left_out(own[rows], known[rows], known[rows], pulls, copies)
        return np.array([(gain.value, gain.standard_error) for gain in found]).T

    found, errors = gains(np.arange(300))
    samples = np.array([gains(rows)[0] for rows in rng.integers(300, size=(500, 300))])
    np.testing.assert_allclose(found, samples.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(errors, np.sqrt(1.0 + 300 / 299) * samples.std(axis=0), rtol=0.12)


@pytest.mark.parametrize("references", [2, 3])
def test_what_others_gain_varies_over_pairs_as_its_standard_error_says(references):
    found = []
    for seed in range(16):
        case = draw(seed, rows=200, pairs=60, references=references)
        agreement = mf.refine(case.main, case.references, same_target=True, rng=0).evidence.agreement
        found.append((agreement.gain.value, agreement.gain.standard_error))
    gains, errors = np.array(found).T
    assert np.mean(np.abs(gains - gains.mean()) < 1.645 * errors) > 0.8


def test_references_are_followed_but_said_not_to_agree_where_the_main_predictor_surely_has_no_part_in_them(rng):
    strangers = scores(rng, (0.9, 0.9, 0.9), rows=80)
    columns = np.concatenate([rng.standard_normal((80, 1, 1)), strangers], axis=1)
    found = answer(columns)
    assert found.answer is Reason.WEAK
    assert (found.pulls > 0).all()
    assert answer(columns, same_target=True).answer is Reason.TOLD
    asked = answer(columns, same_target=False)
    assert asked.answer is Reason.NOT_SHOWN
    assert not asked.is_followed


@pytest.mark.parametrize("count", [3, 8])
def test_noise_is_not_said_to_agree(rng, count):
    answers = [answer(rng.standard_normal((50, count + 1, 1))).answer for _ in range(40)]
    assert answers.count(Reason.AGREE) + answers.count(Reason.WEAK) <= 3
    assert Reason.UNCLEAR in answers


def test_references_that_agree_with_the_main_predictor_alone_are_followed_but_not_said_to_agree(rng):
    parts = rng.standard_normal((100, 3))
    own = parts.sum(axis=1, keepdims=True)
    found = answer(np.concatenate([own, parts + 0.5 * rng.standard_normal((100, 3))], axis=1)[..., None])
    assert found.answer is Reason.UNCLEAR
    assert (found.pulls > 0).all()


def test_a_weaker_main_predictor_follows_further(rng):
    truth = rng.standard_normal(400)
    others = scores(rng, (0.7, 0.7, 0.7), truth=truth)
    pulls = [
        answer(np.concatenate([scores(rng, (own,), truth=truth), others], axis=1)).pulls.sum()
        for own in (0.3, 0.5, 0.7, 0.9)
    ]
    assert (np.diff(pulls) < 0).all()


def test_one_or_two_references_are_followed_unless_clearly_opposed(rng):
    columns = scores(rng, (0.5, 0.6, 0.7))
    for count in (2, 3):
        found = answer(columns[:, :count])
        assert found.answer is Reason.ASSUMED
        assert (found.pulls > 0).all()
        assert answer(columns[:, :count], same_target=False).answer is Reason.NOT_SHOWN
    columns[:, 1] *= -1.0
    assert answer(columns[:, :2]).answer is Reason.OPPOSED
    assert not answer(columns[:, :2]).is_followed
    both = answer(columns)
    assert both.answer is Reason.ASSUMED
    assert both.differing.tolist() == [True, False]
    assert answer(columns[:, :2], same_target=True).answer is Reason.OPPOSED
    told = answer(columns, same_target=True)
    assert told.answer is Reason.TOLD
    assert told.differing.tolist() == [True, False]
    assert (told.pulls > 0).tolist() == [False, True]


def test_one_that_predicts_something_else_is_named_and_the_others_count_as_without_it(rng):
    columns = scores(rng, (0.7, 0.8, 0.8, 0.8))
    odd = rng.standard_normal((400, 1, 1))
    found, without = answer(np.concatenate([columns, odd], axis=1)), answer(columns)
    assert found.differing.tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.pulls[:3], without.pulls)


def test_references_of_another_thing_are_not_followed(rng):
    truth, other = rng.standard_normal((2, 1500))
    ours, theirs = (scores(rng, each, 1500, seen) for each, seen in (((0.8,), truth), ((0.8, 0.8, 0.8), other)))
    assert answer(np.concatenate([ours, theirs], axis=1)).answer is Reason.DIFFER
    assert answer(np.concatenate([ours, theirs], axis=1), same_target=True).answer is Reason.TOLD


def test_without_references_there_is_no_answer(rng):
    found = answer(scores(rng, (0.8,)))
    assert found.answer is Reason.NO_REFERENCE
    assert found.pulls.shape == (0,)


def test_a_constant_column_has_no_correlation(rng):
    assert correlation(np.ones((5, 1)), rng.standard_normal((5, 1))) == 0.0
