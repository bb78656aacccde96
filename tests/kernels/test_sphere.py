import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manifuse.kernels.sphere import alignment, centre, centred_norm, inner, is_constant, on_sphere, standardise, unit

vectors = arrays(np.float64, st.tuples(st.integers(2, 30), st.integers(1, 3)), elements=st.floats(-1e6, 1e6))


@given(vectors)
def test_a_projected_vector_is_centred_and_of_unit_norm_or_zero(columns):
    projected = unit(columns)
    norms = np.linalg.norm(projected, axis=0)
    np.testing.assert_allclose(norms, np.where(is_constant(columns), 0.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(projected.sum(axis=0), 0.0, atol=1e-7)


def test_projection_is_idempotent_and_forgets_shift_and_scale(rng):
    column = rng.standard_normal((20, 2))
    np.testing.assert_allclose(unit(unit(column)), unit(column), atol=1e-15)
    np.testing.assert_allclose(unit(3.0 * column - 7.0), unit(column), atol=1e-14)
    np.testing.assert_allclose(unit(-column), -unit(column), atol=1e-15)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_projection_survives_tiny_and_huge_scores(size, rng):
    column = rng.standard_normal((20, 1))
    np.testing.assert_allclose(unit(size * column), unit(column), atol=1e-12)


def test_alignment_is_the_correlation(rng):
    a, b = rng.standard_normal((2, 50, 3))
    expected = [np.corrcoef(a[:, k], b[:, k])[0, 1] for k in range(3)]
    np.testing.assert_allclose(alignment(a, b), expected, atol=1e-14)


def test_alignment_is_the_cosine_of_the_gram_matrices(rng):
    # Equation 11 equates an alignment with its square. The Gram matrices give the square.
    f, g = centre(rng.standard_normal((15, 2))).T
    F, G = np.outer(f, f), np.outer(g, g)
    gram = np.trace(F @ G) / np.sqrt(np.trace(F @ F) * np.trace(G @ G))
    assert gram == pytest.approx(float(alignment(f[:, None], g[:, None])[0]) ** 2, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e300, -1e-300])
def test_a_constant_has_no_direction(value):
    constant = np.full((7, 1), value)
    assert is_constant(constant).all()
    assert not unit(constant).any()


def test_standardised_columns_have_mean_zero_and_deviation_one(rng):
    columns = standardise(5.0 + 3.0 * rng.standard_normal((40, 2)))
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(columns.std(axis=0), 1.0, atol=1e-14)


def test_several_columns_are_one_point_with_one_norm(rng):
    prediction = rng.standard_normal((40, 3)) * [1.0, 5.0, 0.1] + 2.0
    point = on_sphere(prediction)
    np.testing.assert_allclose(point.mean(axis=0), 0.0, atol=1e-15)
    assert np.sum(point**2) == pytest.approx(1.0)
    # A rotation of the columns rotates the point, and changes no alignment.
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(on_sphere(prediction @ rotation), point @ rotation, atol=1e-14)
    other = on_sphere(rng.standard_normal((40, 3)))
    assert inner(point @ rotation, other @ rotation) == pytest.approx(inner(point, other))
    assert centred_norm(prediction * 1e200) == pytest.approx(1e200 * centred_norm(prediction))


def test_one_column_is_projected_as_a_vector_is(rng):
    scores = rng.standard_normal(60)
    np.testing.assert_array_equal(on_sphere(scores), unit(scores[:, None])[:, 0])
    np.testing.assert_array_equal(on_sphere(scores[:, None])[:, 0], on_sphere(scores))
