"""What references answer, on scores of known structure."""

from dataclasses import replace

import numpy as np
import pytest

from manifuse.diffusion.reason import Reason
from manifuse.evidence.agreement import ask

ROWS = 3000


def noisy(truth, rng, *loadings):
    """Predictors (n, k) of variance 1, with these correlations with a truth of variance 1."""
    loadings = np.asarray(loadings)
    return truth[:, None] * loadings + rng.standard_normal((len(truth), len(loadings))) * np.sqrt(1 - loadings**2)


def answered(main, references, held_out=None, *, same_target=False):
    """Ask coupled references, whose imputed scores are their scores, unless others are given."""
    return ask(main, references, references if held_out is None else held_out, same_target=same_target)


@pytest.fixture
def truth(rng):
    return rng.standard_normal(ROWS)


def test_references_that_predict_the_same_better_agree(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.75, 0.7, 0.65)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.AGREE, 1.0)
    np.testing.assert_allclose(found.loadings, [0.7, 0.75, 0.7, 0.65], atol=0.05)
    assert found.gain > found.standard_error > 0
    # A reliable reference counts more: its loading divided by the variance of its noise.
    np.testing.assert_allclose(found.weights, found.loadings[1:] / (1.0 - found.loadings[1:] ** 2))


def test_references_are_followed_as_least_squares_weighs_them(truth, rng):
    """Main predictor and consensus have equal weight at trust 1; a second opinion: least squares of a left-out one."""
    main, references = noisy(truth, rng, 0.9)[:, 0], noisy(truth, rng, 0.85, 0.85, 0.85)
    hazy = references + 1.3 * rng.standard_normal((ROWS, 3))
    found = answered(main, references, hazy)
    assert found.answer is Reason.AGREE
    weights = []
    for number in range(3):
        said = np.delete(hazy, number, axis=1) @ np.delete(found.weights, number)
        design = np.column_stack([main / main.std(), said / said.std()])
        weights.append(np.linalg.lstsq(design, references[:, number], rcond=None)[0])
    of_main, of_consensus = np.mean(weights, axis=0)
    assert 0.2 < found.trust < 0.9
    # The standard error over three references lowers it a little.
    assert found.trust == pytest.approx(2 * of_consensus / (of_main + of_consensus), abs=0.1)


def test_a_main_predictor_that_leads_is_followed_by_half_at_most(truth, rng):
    main, references = noisy(truth, rng, 0.8)[:, 0], noisy(truth, rng, 0.7, 0.7, 0.7, 0.7)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.AGREE, 0.5)


def test_one_reference_of_the_opposite_sign_differs(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, -0.7)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.DIFFER, 0.0)
    assert found.weights[0] < 0


def test_references_of_another_target_differ(truth, rng):
    other = rng.standard_normal(ROWS)
    main, references = noisy(truth, rng, 0.8)[:, 0], noisy(other, rng, 0.8, 0.8, 0.8)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.DIFFER, 0.0)
    mixed = np.column_stack([noisy(truth, rng, 0.8, 0.8), references[:, :2]])
    assert answered(main, mixed).answer is Reason.DIFFER


def test_a_weak_main_predictor_is_unlike_its_references(truth, rng):
    main, references = noisy(truth, rng, 0.4)[:, 0], noisy(truth, rng, 0.8, 0.8, 0.8)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.UNLIKE, 0.0)


def test_references_that_nothing_carries_to_other_rows_are_no_better(truth, rng):
    main, references = noisy(truth, rng, 0.8)[:, 0], noisy(truth, rng, 0.8, 0.8, 0.8)
    found = answered(main, references, rng.standard_normal((ROWS, 3)))
    assert (found.answer, found.trust) == (Reason.WORSE, 0.0)
    assert found.gain < 0


@pytest.mark.parametrize("count", [1, 2])
def test_with_one_or_two_references_it_is_not_measured(count, truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, *[0.76] * count)
    found = answered(main, references)
    assert (found.answer, found.trust) == (Reason.NOT_MEASURED, 0.5)
    assert np.isnan(found.worths).all()
    assert np.isnan(found.gain) == (count == 1)


def test_references_that_share_too_few_pairs_are_not_measured(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.7, 0.7, 0.7)
    known = np.where(np.arange(ROWS)[:, None] % 3 == np.arange(3), references, np.nan)
    found = ask(main, known, references, same_target=False)
    assert (found.answer, found.trust) == (Reason.NOT_MEASURED, 0.5)
    assert np.isnan(found.loadings).all()
    np.testing.assert_array_equal(found.weights, 1.0)


def test_without_references_there_is_no_answer(truth):
    found = answered(truth, np.empty((ROWS, 0)), same_target=True)
    assert (found.answer, found.trust) == (Reason.NO_REFERENCE, 0.0)
    assert found.worths.shape == found.weights.shape == (0,)
    found.check()


@pytest.mark.parametrize("count", [2, 4])
def test_the_sign_of_a_reference_changes_no_worth(count, truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, *[0.75, 0.7, 0.65, 0.6][:count])
    signs = np.array([1.0, -1.0, 1.0, 1.0])[:count]
    found, turned = (answered(main, each, same_target=True) for each in (references, references * signs))
    np.testing.assert_allclose(turned.loadings, found.loadings * [1.0, *signs], atol=1e-6)
    for name in ("gain", "standard_error", "worths", "worth_errors"):
        np.testing.assert_allclose(getattr(turned, name), getattr(found, name), atol=1e-6)
    # It is not followed unless the user says so.
    assert answered(main, references * signs).answer is Reason.DIFFER


def test_a_reference_in_reverse_that_cannot_be_compared_differs(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.7, 0.7, -0.7)
    known = np.where(np.arange(ROWS)[:, None] % 3 == np.arange(3), references, np.nan)
    assert ask(main, known, references, same_target=False).answer is Reason.DIFFER


def test_a_reference_that_differs_is_left_out_of_every_answer(truth, rng):
    """The others answer as if it had not come."""
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.75, 0.7, 0.65, 0.0)
    found, without = answered(main, references), answered(main, references[:, :3])
    assert (found.answer, found.trust) == (Reason.AGREE, 1.0)
    assert found.differing.tolist() == [False, False, False, True]
    assert found.followed((5, 2, 9, 7)) == (5, 2, 9)
    np.testing.assert_array_equal(found.weights, [*without.weights, 0.0])
    np.testing.assert_array_equal(found.loadings, [*without.loadings, np.nan])
    np.testing.assert_array_equal(found.worths, [*without.worths, np.nan])
    np.testing.assert_array_equal(found.worth_errors, [*without.worth_errors, np.nan])
    assert (found.gain, found.standard_error) == (without.gain, without.standard_error)
    found.check()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_user_is_believed(count, truth, rng):
    other = rng.standard_normal(ROWS)
    main, references = noisy(truth, rng, 0.8)[:, 0], noisy(other, rng, *[0.8] * count)
    found = answered(main, references, same_target=True)
    assert (found.answer, found.trust) == (Reason.TOLD, 1.0)


def test_a_reference_that_is_almost_noise_is_worth_nothing_and_the_others_something(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.7, 0.7, 0.7, 0.7, 0.15)
    found = answered(main, references)
    assert abs(found.worths[-1]) < 0.01
    assert found.worths[:-1].min() > 0.01
    assert (found.worths[:-1] > 2 * found.worth_errors[:-1]).all()


def test_pairs_are_compared_where_both_are_known(truth, rng):
    main, references = noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.75, 0.7, 0.65)
    hidden = rng.random((ROWS, 3)) < 0.4
    found = ask(main, np.where(hidden, np.nan, references), references, same_target=False)
    assert found.answer is Reason.AGREE
    np.testing.assert_allclose(found.loadings, [0.7, 0.75, 0.7, 0.65], atol=0.08)


def test_values_that_do_not_fit_together_are_refused(truth, rng):
    found = answered(noisy(truth, rng, 0.7)[:, 0], noisy(truth, rng, 0.7, 0.7, 0.7))
    for changes in (
        {"trust": 1.5},
        {"weights": np.ones(2)},
        {"loadings": np.ones(3)},
        {"worths": np.ones(4)},
        {"differing": np.zeros(2)},
    ):
        with pytest.raises(ValueError, match="does not fit together"):
            replace(found, **changes).check()
