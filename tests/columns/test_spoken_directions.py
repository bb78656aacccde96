"""Spoken: a reference counts in the directions of log-ratios that it speaks of, and in no other."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

import manifuse as mf
from manifuse.columns.spoken import SpokenDirections

NAMES = ("a", "b", "c", "d")


def directions(own, *matrices):
    turned = [SimpleNamespace(turning=None if each is None else SimpleNamespace(matrix=each)) for each in matrices]
    return SpokenDirections.of(own, dict(enumerate(turned)))


@pytest.fixture
def own(rng):
    found = rng.standard_normal((500, 3)) @ rng.standard_normal((3, 3))
    return found - found.mean(axis=0)


@pytest.mark.parametrize("spoken", [1, 2])
def test_where_a_reference_is_silent_own_scores_stay_and_elsewhere_it_is_a_mean_of_both(own, rng, spoken):
    matrix = np.linalg.qr(rng.standard_normal((3, spoken)))[0].T
    found = directions(own, matrix)
    reference = rng.standard_normal((500, spoken)) @ matrix
    values = found.added(own, reference[:, None], np.array([0.7]))
    onto, off = found.projections[0], np.eye(3) - found.projections[0]
    np.testing.assert_allclose(values @ off, own @ off, atol=1e-12)
    np.testing.assert_allclose(values @ onto, (own @ onto + 0.7 * found.shares[0] * reference) / 1.7, atol=1e-12)
    np.testing.assert_allclose(reference @ onto, reference, atol=1e-12)
    np.testing.assert_allclose(onto @ onto, onto, atol=1e-12)


def test_what_is_silent_hardly_correlates_with_what_is_spoken(own):
    """Not at all, but for the variance that is added to every direction."""

    def largest(onto):
        there, elsewhere = own @ onto, own @ (np.eye(3) - onto)
        products = there.T @ elsewhere / np.linalg.norm(own, 2) ** 2
        return np.abs(products).max()

    direction = np.array([[0.6, 0.8, 0.0]])
    assert largest(directions(own, direction).projections[0]) < largest(direction.T @ direction) / 3


def test_references_in_different_directions_do_not_dilute_each_other(own):
    first, second = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]])
    own = own @ np.linalg.inv(np.linalg.cholesky(np.cov(own.T)).T)
    found = directions(own, first, second)
    said = np.stack([own @ (2 * first.T @ first), own @ (2 * second.T @ second)], axis=1)
    values = found.added(own, said, np.array([1.0, 1.0]))
    alone = directions(own, first).added(own, said[:, :1], np.array([1.0]))
    np.testing.assert_allclose(values[:, 0], alone[:, 0], atol=1e-9)
    np.testing.assert_allclose(values[:, 2], own[:, 2], atol=1e-9)


def test_if_all_speak_of_all_directions_nothing_changes(own, rng):
    turn = np.linalg.qr(rng.standard_normal((4, 3)))[0]
    assert directions(own, None, None) is None
    assert directions(own, None, turn) is None
    assert directions(own[:, :1], np.array([1.0])) is None
    found = directions(own, None, turn, turn[:1])
    for every in found.projections[:2]:
        np.testing.assert_array_equal(every, np.eye(3))
    np.testing.assert_allclose(found.shares[:2], 1.0)
    there = own @ found.projections[2]
    assert found.shares[2] == pytest.approx(np.sqrt(np.sum(there**2) / np.sum(own**2)))
    assert np.linalg.matrix_rank(there) == 1


@pytest.mark.filterwarnings("ignore:.* does not have all classes of:manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("kind", ["coarser classes", "scores of one class"])
@pytest.mark.parametrize("seed", [0, 2, 4])
def test_five_good_references_of_less_than_all_classes_help(kind, seed):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((900, 5))
    evidence = 1.3 * features @ rng.standard_normal((5, 4)) + np.sin(2 * features[:, :1])
    truth = (evidence + 0.7 * rng.gumbel(size=(900, 4))).argmax(axis=1)
    ids = np.arange(900)

    def predicted(noise):
        return evidence + noise * rng.standard_normal((900, 4))

    main = mf.Observations(softmax(predicted(1.8), axis=1), features, ids=ids, classes=NAMES, name="ours")
    others = []
    for name in "vwxyz":
        rows, good = rng.permutation(900)[:150], predicted(0.15)
        if kind == "coarser classes":
            first = softmax(good[rows], axis=1)[:, 0]
            others.append(
                mf.Observations(np.stack([first, 1.0 - first], 1), ids=rows, classes=("a", "rest"), name=name)
            )
        else:
            others.append(mf.Observations((good[:, 0] - good[:, 1:].mean(axis=1))[rows], ids=rows, name=name))
    result = mf.refine(main, others, rng=0)
    before, after = (np.asarray(each)[ids, truth] for each in (main.came, result.predictions))
    assert np.log(after).mean() > np.log(before).mean() + 0.05
    right = [np.mean(np.asarray(each).argmax(axis=1) == truth) for each in (main.came, result.predictions)]
    assert right[1] > right[0] + 0.01
