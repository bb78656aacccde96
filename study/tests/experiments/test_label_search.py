"""The f-diffusion of all cells at once against the plain loop, with the same stopping rule."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.kernels.sphere import unit
from manifuse_study.experiments.label_search import search_cells
from manifuse_study.experiments.published import AS_PUBLISHED

GRID = ((0.1, 1.0, 10.0), (0.1, 1.0))
FIVE = mf.Algorithm1(step_size=GRID[0], weight_scale=GRID[1], steps=5)


def plain(Z, score, steps):
    """One cell after the other, one singular value decomposition per step; the first best cell wins."""
    surface = np.empty((3, 2))
    runs = {}
    for i, step in enumerate(GRID[0]):
        for j, scale in enumerate(GRID[1]):
            f, height, trail = Z[:, 0], score(Z[:, :1])[0], [Z[:, 0]]
            for _ in range(steps):
                weights = np.exp(-(1 - (Z[:, 1:].T @ f) ** 2) / scale)
                S = np.column_stack([f, np.sqrt(step * weights) * Z[:, 1:]])
                following = np.linalg.svd(S, full_matrices=False)[0][:, 0]
                following = following * np.sign(following @ Z[:, 0])
                reached = score(following[:, None])[0]
                if reached <= height:
                    break
                f, height = following, reached
                trail.append(f)
            surface[i, j], runs[i, j] = height, trail
    return surface, runs[np.unravel_index(surface.argmax(), surface.shape)]


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_plain_loop_over_the_grid(seed):
    rng = np.random.default_rng(seed)
    truth = unit(rng.standard_normal((120, 1)))
    Z = unit(truth + rng.uniform(0.05, 0.2, 5) * rng.standard_normal((120, 5)))

    def score(candidates):
        return (unit(candidates).T @ truth)[:, 0]

    algorithm = mf.Algorithm1(step_size=GRID[0], weight_scale=GRID[1], steps=20)
    run, found = search_cells(algorithm, Z, Z[:, 0], np.ones(4), lambda coefficients: score(Z @ coefficients.T))
    surface, trail = plain(Z, score, 20)
    np.testing.assert_allclose(found, surface, atol=1e-10)
    np.testing.assert_allclose(Z @ run.path.T, np.transpose(trail), atol=1e-10)
    assert list(run.scores) == sorted(run.scores)


def test_if_no_step_raises_the_score_the_start_is_kept(rng):
    Z = unit(rng.standard_normal((50, 3)))
    run, _ = search_cells(FIVE, Z, Z[:, 0], np.ones(2), lambda a: -np.abs(a[:, 1:]).sum(axis=1))
    np.testing.assert_array_equal(run.path, np.eye(3)[:1])


def test_a_step_that_only_keeps_the_score_is_not_taken(rng):
    Z = unit(rng.standard_normal((50, 1)) + rng.standard_normal((50, 3)))
    run, _ = search_cells(FIVE, Z, Z[:, 0], np.ones(2), lambda a: np.full(len(a), 0.7))
    np.testing.assert_array_equal(run.path, np.eye(3)[:1])


def test_the_published_form_has_none_of_our_additions():
    published = AS_PUBLISHED
    assert [len(axis) for axis in published.grid] == [8, 7]
    assert not any((published.anchored, published.smoothing, published.ignore_chance))
    assert published.selection == "alignment"
    assert all(isinstance(setting.bridge, mf.ExplicitEuler) for setting in published.settings())
    assert {setting.bridge.step for setting in published.settings()} == {1e-5}
