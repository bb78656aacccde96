import numpy as np
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manifuse.kernels.sparse_rows import keep_largest, sum_to_one

matrices = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 8)), elements=st.integers(0, 3).map(float))


@given(matrices, st.integers(1, 4))
def test_the_largest_of_each_row_are_kept_equals_by_column(dense, count):
    kept = keep_largest(sparse.csr_array(dense), count).toarray()
    for row, found in zip(dense, kept, strict=True):
        order = np.lexsort((np.arange(len(row)), -row))[:count]
        expected = np.zeros_like(row)
        expected[order] = row[order]
        np.testing.assert_array_equal(found, expected)


@given(matrices)
def test_rows_sum_to_one_or_stay_empty(dense):
    sums = sum_to_one(sparse.csr_array(dense)).sum(axis=1)
    np.testing.assert_allclose(sums, (dense.sum(axis=1) > 0).astype(float))
