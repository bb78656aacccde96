"""MTL¹ and MTL² by their energies: no direction leads down, and their ends are known."""

import numpy as np
import pytest

from manifuse_study.baselines.mtl import SharedSpace, mtl1, mtl2, solve_mtl1
from manifuse_study.ranking.ranksvm import RankSVM


@pytest.fixture
def tasks(rng):
    X = rng.standard_normal((160, 5))
    w = rng.standard_normal((5, 3))
    w[:, 1] = w[:, 0] + 0.1 * w[:, 1]
    return X, np.round(X @ w + 0.5 * rng.standard_normal((160, 3)))


def space_of(X, Y, kernel):
    main = RankSVM(kernel, penalty=2.0, width=8.0).fit(X[:40], Y[:40, 0])
    references = [
        RankSVM(kernel, penalty=2.0, width=8.0).fit(X[first : first + 40], Y[first : first + 40, k])
        for k, first in ((1, 40), (2, 80))
    ]
    return main, references, SharedSpace.of(main, Y[:40, 0], references, X)


def test_distances_are_those_of_the_parameters(tasks, rng):
    X, Y = tasks
    main, references, space = space_of(X, Y, "linear")
    a, mixture = rng.standard_normal(40), rng.standard_normal(2)
    W = np.column_stack([r.rows_.T @ r.coefficients_ for r in references])
    w = main.rows_.T @ a + W @ mixture
    np.testing.assert_allclose(space.squared_distances(a, mixture), np.sum((w[:, None] - W) ** 2, axis=0))
    np.testing.assert_allclose(space.predict(a, mixture), X @ w, atol=1e-9)


@pytest.mark.parametrize("scale", [np.inf, 50.0])
def test_no_direction_leads_down_from_the_solution_of_eq_21(scale, tasks, rng):
    X, Y = tasks
    main, references, space = space_of(X, Y, "linear")
    W = np.column_stack([r.rows_.T @ r.coefficients_ for r in references])
    penalty, pull = 3.0, 20.0
    a, mixture = solve_mtl1(space, penalty, pull, scale, main.coefficients_)
    w = main.rows_.T @ a + W @ mixture
    weights = np.exp(-np.sum((w[:, None] - W) ** 2, axis=0) / scale)
    above = Y[:40, 0][:, None] > Y[:40, 0][None, :]

    def energy(w):
        f = X[:40] @ w
        loss = np.sum(np.maximum(1 - (f[:, None] - f[None, :]), 0)[above] ** 2)
        return loss + penalty * w @ w + pull * weights @ np.sum((w[:, None] - W) ** 2, axis=0)

    for _ in range(40):
        assert energy(w + 0.05 * rng.standard_normal(5)) > energy(w)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_a_huge_pull_gives_the_reference_and_no_pull_the_ranker_alone(kernel, tasks):
    X, Y = tasks
    main, references, space = space_of(X, Y, kernel)
    mixture = np.array([1.0, 0.0])
    np.testing.assert_allclose(
        space.predict(space.solve(1e12, mixture, None), mixture), references[0].predict(X), atol=1e-6
    )
    alone = space.solve(main.penalty, np.zeros(2), None)
    np.testing.assert_allclose(space.predict(alone, np.zeros(2)), main.predict(X), atol=1e-3)


@pytest.mark.parametrize("learn", [mtl1, mtl2])
def test_the_related_reference_helps(learn, tasks):
    X, Y = tasks
    main, _, space = space_of(X, Y, "linear")
    rows = np.arange(120, 160)
    learned = learn(space, rows, Y[rows, 0])
    order = np.corrcoef(learned.predictions[rows], Y[rows, 0])[0, 1]
    assert order > np.corrcoef(main.predict(X)[rows], Y[rows, 0])[0, 1] - 0.01
    assert learned.validation_accuracy > 0.8
