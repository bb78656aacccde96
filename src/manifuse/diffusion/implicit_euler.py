"""ImplicitEuler: bridges by the implicit Euler step (eq. 15 and 16), without ever forming a bridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from manifuse.diffusion.schemes import BridgeScheme, height, is_count, is_number
from manifuse.errors import InputError
from manifuse.kernels import chebyshev
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class ImplicitAnchor:
    """Chebyshev moments of the right-hand sides at the paired rows."""

    main_rows: IndexArray
    moments: FloatArray

    def without(self, pairs: IndexArray) -> ImplicitAnchor:
        """Return the same anchor with some of its pairs taken out of the bridge."""
        moments = self.moments.copy()
        moments[:, pairs] = 0.0
        return ImplicitAnchor(self.main_rows, moments)


#: The largest number of steps, and of Chebyshev polynomials that they take; more would take minutes.
MOST_STEPS, MOST_DEGREES = 100, 2048


@dataclass(frozen=True)
class ImplicitEuler(BridgeScheme):
    """The implicit Euler step, with the identity that the printed equation lost, matrix-free (equations 15 and 16).

    Parameters
    ----------
    step : float
        The step size ``delta_B``, in [1e-6, 1e4]. Values from 1 to 30 work well; the default was the best on HW.
    steps : int
        Upper bound on steps per round (T2 of Algorithm 1), at most 100; more are taken while the alignment rises.
    tolerance : float
        Relative error of the bridge, in the Frobenius norm.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Algorithm1(bridge=mf.ImplicitEuler(step=3.0)).bridge
    ImplicitEuler(step=3.0, steps=1, tolerance=1e-06)
    """

    step: float = 10.0
    steps: int = 1
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (
            is_number(self.step)
            and 1e-6 <= self.step <= 1e4
            and is_count(self.steps)
            and self.steps <= MOST_STEPS
            and is_number(self.tolerance)
            and 0 < self.tolerance < 1
            and chebyshev.degrees_enough(self.step, self.steps, self.tolerance) <= MOST_DEGREES
        ):
            raise InputError(
                f"{self} came, but a step in [1e-6, 1e4], 1 to {MOST_STEPS} whole steps and a tolerance in (0, 1) are "
                f"expected, together of at most {MOST_DEGREES} polynomials."
            )

    @property
    def depth(self) -> int:
        """Number of moments that the step needs, or the last of several; see `BridgeScheme.depth`."""
        return max(len(self._coefficients(power)) for power in range(1, self.steps + 1))

    def anchor_bytes(self, pairs: float, edges: float) -> float:
        """Memory of the moments of scores and ones; see `BridgeScheme.anchor_bytes`."""
        del edges
        return 16.0 * self.depth * pairs

    def carry_bytes(self, pairs: float, edges: float) -> float:
        """Memory of moments without some pairs, and of sources; see `BridgeScheme.carry_bytes`."""
        return 3 * self.anchor_bytes(pairs, edges)

    def anchor(
        self, reference: Affinity, block: FloatArray, main_rows: IndexArray, reference_rows: IndexArray
    ) -> ImplicitAnchor:
        """Take the moments at the paired rows; see `BridgeScheme.anchor`."""
        return ImplicitAnchor(main_rows, chebyshev.moments(reference, block, reference_rows, self.depth))

    def carry(self, main: Affinity, anchors: Sequence[ImplicitAnchor], towards: FloatArray) -> list[FloatArray]:
        """Solve eq. 16 for all anchors, as columns of one block; see `BridgeScheme.carry`."""
        best = self._solve(main, anchors, power=1)
        if self.steps == 1:
            return best
        heights = [height(towards, block) for block in best]
        for power in range(2, self.steps + 1):
            further = self._solve(main, anchors, power=power)
            rising = [k for k, block in enumerate(further) if height(towards, block) > heights[k]]
            for k in rising:
                best[k], heights[k] = further[k], height(towards, further[k])
            if not rising:
                break
        return best

    def _coefficients(self, power: int) -> FloatArray:
        return chebyshev.resolvent_coefficients(self.step, power=power, tolerance=self.tolerance)

    def _solve(self, main: Affinity, anchors: Sequence[ImplicitAnchor], *, power: int) -> list[FloatArray]:
        coefficients = self._coefficients(power)
        groups = []
        # The folds of a reference have their pairs in common.
        for _, alike in groupby(anchors, lambda anchor: id(anchor.main_rows)):
            same = list(alike)
            sources = [np.tensordot(coefficients, each.moments[: len(coefficients)], axes=1) for each in same]
            groups.append((same[0].main_rows, np.concatenate(sources, axis=2)))
        solution = chebyshev.propagate(main, groups)
        ends = np.cumsum([0, *(anchor.moments.shape[2] for anchor in anchors)])
        return [solution[:, first:last] for first, last in pairwise(ends)]
