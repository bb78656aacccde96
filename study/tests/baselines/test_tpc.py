"""TPC: the iterative route reaches the closed form, and gradients are gradients."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.sphere import standardise
from manifuse_study.baselines.tpc import descend, divergences, exact_minimiser, kl_energy, rank_energy, tpc


@pytest.fixture
def sample(rng):
    truth = rng.standard_normal(120)
    scores = standardise(truth[:, None] + rng.standard_normal((120, 4)))
    return truth, scores[:, 0], scores[:, 1:]


def test_the_iterative_route_reaches_the_closed_form(sample, rng):
    _, main, references = sample
    weights = rng.uniform(0, 2, 3)
    found = descend(kl_energy(main, references, weights), main)
    np.testing.assert_allclose(found, exact_minimiser(main, references, weights), atol=1e-6)


def test_gradients_are_those_of_the_energies(sample, rng):
    _, main, references = sample
    weights = np.array([0.5, 0.0, 1.0])
    for energy in (
        kl_energy(main, references, weights),
        rank_energy(main, references, weights, np.triu_indices(120, 1)),
    ):
        at = main + 0.1 * rng.standard_normal(120)
        assert check_grad(lambda p, e=energy: e(p)[0], lambda p, e=energy: e(p)[1], at) < 1e-5


def test_divergence_is_one_less_correlation(sample):
    _, main, references = sample
    expected = [1 - np.corrcoef(main, column)[0, 1] for column in references.T]
    np.testing.assert_allclose(divergences(main, references), expected)


@pytest.mark.parametrize("mode, closed_form", [("kl", False), ("kl", True), ("rank", False)])
def test_it_raises_the_validation_score_and_never_lowers_it(mode, closed_form, sample, rng):
    truth, main, references = sample
    labels = np.round(2 * truth)

    def evaluate(p):
        return ranking_accuracy(labels[:60], p[:60])

    found = tpc(main, references, evaluate, mode=mode, closed_form=closed_form, rng=rng)
    assert found.validation_accuracy > evaluate(main)
    assert ranking_accuracy(labels[60:], found.predictions[60:]) > ranking_accuracy(labels[60:], main[60:])
