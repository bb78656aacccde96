import numpy as np
import pytest

from manifuse.kernels import feature_blocks
from manifuse.kernels.feature_blocks import all_finite, means_and_deviations, rescale


@pytest.fixture(params=[1 << 22, 10])
def table(request, rng, monkeypatch):
    """A table with a constant column, an offset and a huge scale; read as a whole, or three rows at a time."""
    monkeypatch.setattr(feature_blocks, "NUMBERS", request.param)
    return np.column_stack([rng.standard_normal((31, 2)), np.full(31, 7.0)]) * [1.0, 1e200, 1.0] + [1e6, 0.0, 0.0]


def test_means_and_deviations_are_those_of_numpy(table):
    means, deviations = means_and_deviations(table)
    np.testing.assert_allclose(means, table.mean(axis=0), rtol=1e-12)
    expected = np.array([table[:, 0].std(), 1e200 * (table[:, 1] / 1e200).std(), 0.0])
    np.testing.assert_allclose(deviations, expected, rtol=1e-9)


def test_columns_are_brought_to_scale(table):
    scaled = rescale(table, np.array([1e6, 0.0, 0.0]), np.array([2.0, 1e200, np.inf]), np.float32)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, (table - [1e6, 0, 0]) / [2.0, 1e200, np.inf], rtol=1e-6)


def test_rows_with_a_number_that_is_not_finite_are_found(table):
    table[[3, 30], [0, 2]] = np.nan, np.inf
    np.testing.assert_array_equal(np.flatnonzero(~all_finite(table)), [3, 30])


def test_short_numbers_are_read_in_double_precision(rng):
    table = (1e4 + rng.standard_normal((50, 2))).astype(np.float32)
    np.testing.assert_array_equal(means_and_deviations(table)[1], means_and_deviations(table.astype(float))[1])


def test_no_bit_depends_on_the_order_of_a_table_in_memory(rng):
    table = rng.standard_normal((3000, 7))
    expected = means_and_deviations(table)
    for same in (np.asfortranarray(table), np.repeat(table, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(means_and_deviations(same), expected)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1, -1e-200])
def test_a_constant_column_has_its_number_as_mean_and_no_deviation(rng, value):
    table = np.column_stack([rng.standard_normal((500, 4)), np.full(500, value)])
    means, deviations = means_and_deviations(table)
    assert (means[4], deviations[4]) == (value, 0.0)


def test_a_sum_beyond_the_range_of_floats_is_no_trouble(rng):
    table = np.column_stack([rng.uniform(0.5, 1.0, 500) * 1e308, rng.standard_normal(500)])
    means, deviations = means_and_deviations(table)
    assert table[:, 0].min() <= means[0] <= table[:, 0].max()
    assert np.isfinite(deviations).all()
    assert deviations[0] > 0
