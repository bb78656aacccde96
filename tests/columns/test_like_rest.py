"""Whether chosen rows are like all rows, but for chance."""

import numpy as np

from manifuse.columns.like_rest import have_means_of_all


def test_numbers_near_the_end_of_the_range_of_floats_are_compared(rng):
    values, first = rng.standard_normal((500, 1)), np.arange(500) < 100
    assert have_means_of_all([(values * 1e305, first)])
    assert not have_means_of_all([(np.sort(values, axis=0) * 1e305, first)])
    # Without a warning, although nothing can be said of this one.
    assert have_means_of_all([(np.sort(values, axis=0) * 1e307, first)])
