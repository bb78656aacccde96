"""A compiled step of a recurrence over two columns. With so few columns, SciPy spends its time on overhead."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

from manifuse.kernels.arrays import FloatArray, SparseMatrix

#: A function of (matrix, current, previous, factor, threads) that overwrites ``previous`` by
#: ``factor * (matrix @ current) - previous``.
PairStep = Callable[[SparseMatrix, FloatArray, FloatArray, float, int], None]


@cache
def pair_step(numba: ModuleType) -> PairStep:
    """Compile the step over blocks of two columns, (n, 2). It adds numbers in the same order as SciPy."""

    @numba.njit(parallel=True)  # type: ignore[untyped-decorator]
    def loop(starts: Any, stop: Any, values: Any, current: Any, previous: Any, factor: float) -> None:
        for row in numba.prange(len(previous)):
            first = second = 0.0
            for edge in range(starts[row], starts[row + 1]):
                first += values[edge] * current[stop[edge], 0]
                second += values[edge] * current[stop[edge], 1]
            previous[row, 0] = factor * first - previous[row, 0]
            previous[row, 1] = factor * second - previous[row, 1]

    def step(matrix: SparseMatrix, current: FloatArray, previous: FloatArray, factor: float, threads: int) -> None:
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
        # Numba checks every signed index for negative values, which doubles the time. Unsigned ones need no check.
        starts, stop = (whole.view(f"u{whole.itemsize}") for whole in (matrix.indptr, matrix.indices))
        loop(starts, stop, matrix.data, current, previous, factor)

    return step
