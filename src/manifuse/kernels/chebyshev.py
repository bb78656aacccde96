"""Chebyshev polynomials of an affinity: smoothing, and what the implicit bridge carries over, without its entries.

The minimiser of eq. 15 solves eq. 16, to which we give back the identity that the print lost:
``(I + d L_f) V + d V L_k = B(0)``. The solution is ``V = sum_ab c_ab T_a(L_f - I) B(0) T_b(L_k - I)``, where ``c``
holds the Chebyshev coefficients of ``1 / (1 + d (x + y))`` on [0, 2]². ``B(0)`` (eq. 13) is one at each pair and zero
elsewhere. So ``V g`` takes two steps. `moments` computes ``T_b(L_k - I) g`` at the paired rows of the reference.
`propagate` then runs one Clenshaw recurrence on the main side. The code uses affinities in place of Laplacians:
``L - I = -S``.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from manifuse.kernels.affinity import Affinity, Block
from manifuse.kernels.arrays import FloatArray, IndexArray


def degrees_enough(step: float, power: int, tolerance: float) -> float:
    """Polynomials that are always enough for `resolvent_coefficients`."""
    # The nearest pole is at x = -1/step; its Bernstein ellipse gives the degree.
    pole = 1.0 + 1.0 / step
    decay = np.log(pole + np.sqrt(pole**2 - 1.0))
    budget = np.log(tolerance) - power * np.log(1.0 + 4.0 * step)
    return float(np.ceil((8.0 * power - budget) / decay)) + 8.0


@lru_cache(maxsize=32)
def resolvent_coefficients(step: float, *, power: int = 1, tolerance: float) -> FloatArray:
    """Chebyshev coefficients of ``(1 + step (x + y))^-power`` on [0, 2]², shape (degree + 1, degree + 1).

    The degree is the smallest for which the sum of the omitted coefficients is at most ``tolerance`` times the
    smallest value of the function. Chebyshev polynomials of an affinity have norm at most 1. So the relative error of
    the bridge, in the Frobenius norm, is at most ``tolerance``.
    """
    budget = tolerance * (1.0 + 4.0 * step) ** -power
    enough = int(degrees_enough(step, power, tolerance))
    angles = np.pi * (np.arange(enough) + 0.5) / enough
    nodes = np.cos(angles)
    values = (1.0 + step * (nodes[:, None] + nodes[None, :] + 2.0)) ** -power
    transform = np.cos(np.outer(np.arange(enough), angles)) * (2.0 / enough)
    transform[0] /= 2.0
    coefficients = transform @ values @ transform.T
    shells = np.maximum.outer(np.arange(enough), np.arange(enough))
    left_out = np.bincount(shells.ravel(), np.abs(coefficients).ravel())[::-1].cumsum()[::-1]
    degree = int(np.argmax(np.append(left_out[1:], 0.0) <= budget))
    kept = np.ascontiguousarray(coefficients[: degree + 1, : degree + 1])
    kept.flags.writeable = False
    return kept


def smoothing_coefficients(step: float, *, tolerance: float) -> FloatArray:
    """Chebyshev coefficients of ``1 / (1 + step (1 - x))`` on [-1, 1]; they form a geometric sequence.

    The sum of the omitted coefficients is at most ``tolerance`` times the smallest value of the function.
    """
    pole = 1.0 + 1.0 / step
    root = np.sqrt(pole**2 - 1.0)
    ratio = 1.0 / (pole + root)
    front = 2.0 / (step * root)
    budget = tolerance / (1.0 + 2.0 * step) * (1.0 - ratio) / front
    degree = max(0, int(np.ceil(np.log(budget) / np.log(ratio))) - 1)
    coefficients = front * ratio ** np.arange(degree + 1)
    coefficients[0] /= 2.0
    return np.asarray(coefficients)


def smooth(affinity: Affinity, values: FloatArray, steps: Sequence[float], *, tolerance: float = 1e-8) -> FloatArray:
    """Solve ``(I + step Laplacian) s = v`` for every column of ``values`` (n, c) and every step at once.

    No entry of the inverse is negative, and its diagonal is at least ``1 / (1 + 2 step)``.

    Parameters
    ----------
    affinity : Affinity
    values : (n, c) array
    steps : sequence of float
        Positive.
    tolerance : float
        Upper bound on the relative error of each column, in the Euclidean norm.

    Returns
    -------
    (steps, n, c) array
    """
    series = [smoothing_coefficients(step, tolerance=tolerance) for step in steps]
    smoothed = [affinity.zeros(values.shape[1]) for _ in series]
    for order, block in enumerate(_polynomials(affinity, values, max(map(len, series)), 1.0)):
        for total, coefficients in zip(smoothed, series, strict=True):
            if order < len(coefficients):
                total += coefficients[order] * block
    del block
    return np.stack([affinity.leave(total) for total in smoothed])


def moments(affinity: Affinity, block: FloatArray, rows: IndexArray, count: int) -> FloatArray:
    """Compute ``T_b(-S) block`` at ``rows`` for b = 0 ... count - 1, shape (count, len(rows), columns)."""
    return np.stack([affinity.take(each, rows) for each in _polynomials(affinity, block, count, -1.0)])


def _polynomials(affinity: Affinity, values: FloatArray, count: int, sign: float) -> Iterator[Block]:
    """``T_0(sign S) values`` ... ``T_(count - 1)(sign S) values``; each is overwritten when the next but one comes."""
    earlier, latest = affinity.zeros(values.shape[1]), affinity.enter(values)
    yield latest
    for order in range(1, count):
        earlier, latest = latest, affinity.recur(latest, earlier, sign * min(order, 2))
        yield latest


def propagate(affinity: Affinity, groups: Sequence[tuple[IndexArray, FloatArray]]) -> FloatArray:
    """Compute ``sum_a T_a(-S) E sources[a]``, the solution of eq. 16, by Clenshaw's recurrence.

    Parameters
    ----------
    affinity : Affinity
        Of n rows.
    groups : sequence of pairs of arrays
        Of each group of columns the distinct rows (p,) of its sources, and the sources (degree + 1, p, columns).
        ``E`` has a one at (``rows[i]``, i) for every i, and is zero elsewhere.

    Returns
    -------
    (n, columns) array
        The columns of all groups, one group after another.
    """
    ends = np.cumsum([0, *(sources.shape[2] for _, sources in groups)]).tolist()

    def add(block: Block, order: int) -> None:
        for (rows, sources), first, last in zip(groups, ends[:-1], ends[1:], strict=True):
            affinity.add(block[:, first:last], rows, sources[order])

    later, latest = affinity.zeros(ends[-1]), affinity.zeros(ends[-1])
    for order in range(len(groups[0][1]) - 1, 0, -1):
        later, latest = latest, affinity.recur(latest, later, -2.0)
        add(latest, order)
    result = affinity.recur(latest, later, -1.0)
    del later, latest
    add(result, 0)
    return affinity.leave(result)
