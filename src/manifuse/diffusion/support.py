"""Support: how much pair evidence reaches rows of the main table."""

from __future__ import annotations

import numpy as np

from manifuse.diffusion.transport import Transport
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.problem import Problem


def support_of_rows(row_sums: FloatArray, typical: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over references, by weight, of row sums divided by those at a typical pair; shape (n,), in [0, 1]."""
    if not len(weights):
        return np.zeros(len(row_sums))
    # If no reference took part, all count alike.
    weights = weights if weights.sum() > 0 else np.ones(len(weights))
    shares = row_sums / typical
    np.clip(shares, 0.0, 1.0, out=shares)
    return np.asarray(shares @ (weights / weights.sum()))


def typical_row_sums(problem: Problem, transport: Transport) -> FloatArray:
    """Row sum of every reference's bridge at a typical pair, shape (m,)."""
    pairs = [reference.main_rows for reference in problem.references]
    return np.array([np.median(transport.row_sums[rows, number]) for number, rows in enumerate(pairs)])
