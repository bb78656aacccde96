"""The f-diffusion of a round against the plain loop."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.diffusion.joint import take_steps
from manifuse.kernels.sphere import unit


@pytest.mark.parametrize("steps", [1, 4])
def test_the_one_cell_takes_all_its_steps_as_a_plain_loop_does(rng, steps):
    Z = unit(rng.standard_normal((50, 1)) + rng.standard_normal((50, 3)))
    algorithm = mf.Algorithm1(steps=steps, step_size=0.7, weight_scale=0.4)
    run = take_steps(algorithm, Z, Z[:, 0], np.ones(2))
    trail = [Z[:, 0]]
    for _ in range(steps):
        weights = np.exp(-(1 - (Z[:, 1:].T @ trail[-1]) ** 2) / 0.4)
        S = np.column_stack([trail[-1], np.sqrt(0.7 * weights) * Z[:, 1:]])
        following = np.linalg.svd(S, full_matrices=False)[0][:, 0]
        trail.append(following * np.sign(following @ Z[:, 0]))
    np.testing.assert_allclose(Z @ run.path.T, np.transpose(trail), atol=1e-10)
    assert run.cell == (0.7, 0.4)
    assert np.isnan(run.scores).all()
