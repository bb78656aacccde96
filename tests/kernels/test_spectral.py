"""The f-diffusion against its plain form: one singular value decomposition per step."""

import numpy as np
import pytest

from manifuse.kernels.spectral import diffusion_step, reference_weights
from manifuse.kernels.sphere import unit


def plain_step(f, references, origin, step, scale):
    """Equations 5, 7, 9 and 10 on all n rows, by one singular value decomposition."""
    alignments = references.T @ f
    weights = np.exp(-(1 - alignments**2) / scale)
    S = np.column_stack([f, np.sqrt(step * weights) * references])
    leading = np.linalg.svd(S, full_matrices=False)[0][:, 0]
    return leading * (-1.0 if leading @ origin < 0 else 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_equals_one_svd_per_step_over_random_problems(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(20, 200), rng.integers(1, 7)
    shared = rng.standard_normal((n, 1))
    Z = unit(shared * rng.uniform(-1, 1, m + 1) + 0.7 * rng.standard_normal((n, m + 1)))
    step, scale = (10 ** rng.uniform(-2, 2, 9) for _ in range(2))
    a = np.zeros((9, m + 1))
    a[:, 0] = 1.0
    plain = [Z[:, 0]] * 9
    for _ in range(6):
        a = diffusion_step(a, Z.T @ Z, Z.T @ Z[:, 0], np.ones(m), step, scale)
        plain = [plain_step(f, Z[:, 1:], Z[:, 0], *cell) for f, *cell in zip(plain, step, scale, strict=True)]
    np.testing.assert_allclose(Z @ a.T, np.transpose(plain), atol=1e-10)


def test_the_step_maximises_the_score_functional(rng):
    Z = unit(rng.standard_normal((30, 1)) + rng.standard_normal((30, 4)))
    step, scale = np.array([2.0]), np.array([0.5])
    first = np.eye(4)[:1]
    weights = reference_weights(Z[:, 1:].T @ Z[:, 0], scale)

    def score(p):
        return (unit(p[:, None])[:, 0] @ Z[:, 0]) ** 2 + step[0] * weights @ (Z[:, 1:].T @ unit(p[:, None])[:, 0]) ** 2

    best = Z @ diffusion_step(first, Z.T @ Z, Z.T @ Z[:, 0], np.ones(3), step, scale)[0]
    for _ in range(200):
        assert score(best + 0.05 * rng.standard_normal(30)) < score(best)


def test_an_inactive_reference_has_no_effect(rng):
    Z = unit(rng.standard_normal((40, 1)) + rng.standard_normal((40, 4)))
    step, scale = np.array([1.0, 3.0]), np.array([1.0, 0.2])
    gated = diffusion_step(np.eye(4)[[0, 0]], Z.T @ Z, Z.T @ Z[:, 0], np.array([1.0, 0.0, 1.0]), step, scale)
    kept = Z[:, [0, 1, 3]]
    without = diffusion_step(np.eye(3)[[0, 0]], kept.T @ kept, kept.T @ kept[:, 0], np.ones(2), step, scale)
    np.testing.assert_allclose(gated @ Z.T, without @ kept.T, atol=1e-12)


def test_a_vanishing_step_changes_nothing(rng):
    Z = unit(rng.standard_normal((40, 1)) + rng.standard_normal((40, 3)))
    moved = diffusion_step(np.eye(3)[:1], Z.T @ Z, Z.T @ Z[:, 0], np.ones(2), np.array([1e-14]), np.array([1.0]))
    np.testing.assert_allclose(Z @ moved[0], Z[:, 0], atol=1e-12)


def test_the_sign_agrees_with_the_origin(rng):
    Z = unit(rng.standard_normal((40, 1)) + rng.standard_normal((40, 3)))
    arguments = (Z.T @ Z, Z.T @ Z[:, 0], np.ones(2), np.array([1.0]), np.array([1.0]))
    moved = diffusion_step(-np.eye(3)[:1], *arguments)
    assert (Z @ moved[0]) @ Z[:, 0] > 0


def test_weights_rise_with_the_square_of_the_alignment():
    weights = reference_weights(np.array([0.0, 0.5, -0.5, 1.0]), np.array(0.3))
    assert weights[1] == weights[2]
    assert weights[0] < weights[1] < weights[3] == 1.0
