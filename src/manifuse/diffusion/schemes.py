"""Bridges: how a reference's scores reach the rows of the main table (section 2.2.2).

A bridge ``B`` is never asked for its entries, only for ``B g`` and its row sums ``B 1``; both come from one
block ``[g, 1]`` of right-hand sides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
import scipy.sparse as sparse

from manifuse.errors import InputError
from manifuse.kernels import chebyshev
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.rows import keep_largest, sum_to_one
from manifuse.kernels.sphere import alignment, is_constant

#: A row is reached when its row sum is at least this share of the largest; below it rounding speaks.
REACHED = 1e-6

#: Whole numbers above this are no counts of anything here, and leave the range of indices.
MOST_COUNTED = 10**9


@dataclass(frozen=True, eq=False)
class Transport:
    """Reference scores as they arrive on the main rows, one column per reference.

    Attributes
    ----------
    values : (n, m) array
        ``B g / B 1``: convex combinations of the reference's scores. Rows that nothing reaches hold the
        mean of the rows that something does, which is 0 on the manifold.
    row_sums : (n, m) array
        ``B 1``, how much pair evidence arrives.
    reached : (n, m) array of bool
    """

    values: FloatArray
    row_sums: FloatArray
    reached: BoolArray

    @classmethod
    def of(cls, carried: FloatArray, row_sums: FloatArray) -> Transport:
        """Divide carried scores, whose memory is used up, by the row sums, where these are more than rounding."""
        reached = (row_sums > 0) & (row_sums >= REACHED * row_sums.max(axis=0))
        np.copyto(carried, 0.0, where=~reached)
        np.divide(carried, row_sums, out=carried, where=reached)
        means = carried.sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
        np.copyto(carried, means, where=~reached)
        return cls(carried, row_sums, reached)

    def project(self, values: FloatArray) -> FloatArray:
        """Take scores (q, m) that arrived at any rows to the sphere as these here go to it (eq. 1)."""
        projected = np.empty(values.shape)
        # One reference after the other, for room.
        for place, mean in enumerate(self.values.mean(axis=0)):
            fitted = self.values[:, place]
            norm = np.inf if is_constant(fitted) else np.linalg.norm(fitted - mean)
            projected[:, place] = (values[:, place] - mean) / norm
        return projected


class Anchor(ABC):
    """The reference side of a bridge: what its pairs send over, fixed while the main side changes."""

    @abstractmethod
    def without(self, pairs: IndexArray) -> Anchor:
        """Return the same anchor with some of its pairs taken out of the bridge."""


AnchorType = TypeVar("AnchorType", bound=Anchor)


class BridgeScheme(ABC, Generic[AnchorType]):
    """A way to diffuse the pair labels ``B(0)`` (eq. 13) into a bridge; a frozen dataclass of its parameters."""

    def parameters(self) -> dict[str, float]:
        """Hyperparameters by name."""
        return dict(vars(self))

    @property
    @abstractmethod
    def depth(self) -> int:
        """How much of the reference side an anchor holds; one of more depth serves schemes of its kind with less."""

    @abstractmethod
    def anchor(
        self, reference: Affinity, block: FloatArray, main_rows: IndexArray, reference_rows: IndexArray
    ) -> AnchorType:
        """Prepare the reference side.

        Parameters
        ----------
        reference : Affinity
            The reference's, of n_k rows.
        block : (n_k, c) array
            Right-hand sides, the last one all ones.
        main_rows, reference_rows : (p,) array of int
            The pairs.
        """

    @abstractmethod
    def carry(self, main: Affinity, anchors: Sequence[AnchorType], towards: FloatArray) -> list[FloatArray]:
        """Compute ``B @ block`` for every anchor, each (n, c).

        Parameters
        ----------
        main : Affinity
            The main table's, of n rows.
        anchors : sequence of Anchor
        towards : (n,) array
            The main predictor; further bridge steps are taken while its alignment with the first
            right-hand side rises (Algorithm 1).
        """


@dataclass(frozen=True, eq=False)
class ImplicitAnchor(Anchor):
    """Chebyshev moments of the right-hand sides at the paired rows."""

    main_rows: IndexArray
    moments: FloatArray

    def without(self, pairs: IndexArray) -> ImplicitAnchor:
        """Return the same anchor with some of its pairs taken out of the bridge."""
        moments = self.moments.copy()
        moments[:, pairs] = 0.0
        return ImplicitAnchor(self.main_rows, moments)


@dataclass(frozen=True)
class ImplicitEuler(BridgeScheme[ImplicitAnchor]):
    """The implicit Euler step of equations 15 and 16, with the identity that the print lost, matrix-free.

    Parameters
    ----------
    step : float
        The step size ``delta_B``, in [1e-6, 1e4]. One to thirty works well; the default was the best on HW.
    steps : int
        Upper bound on steps per round (T2 of Algorithm 1); more are taken while the alignment rises.
    tolerance : float
        Relative error of the bridge, in the Frobenius norm. From 100,000 rows on edges are kept in single precision,
        and no less than some 1e-7 (step sizes of 100 and more: 1e-6) is reached whatever is asked for.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.JointDiffusion(bridge=mf.ImplicitEuler(step=3.0)).bridge
    ImplicitEuler(step=3.0, steps=1, tolerance=1e-06)
    """

    step: float = 10.0
    steps: int = 1
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (1e-6 <= self.step <= 1e4 and _is_count(self.steps) and 0 < self.tolerance < 1):
            raise InputError(
                f"{self} came, but a step in [1e-6, 1e4], whole steps of at least 1 and a tolerance in (0, 1) "
                "are expected."
            )

    @property
    def depth(self) -> int:
        """Moments that the step, or the last of several, takes; see `BridgeScheme.depth`."""
        return max(len(self._coefficients(power)) for power in range(1, self.steps + 1))

    def anchor(
        self, reference: Affinity, block: FloatArray, main_rows: IndexArray, reference_rows: IndexArray
    ) -> ImplicitAnchor:
        """Take the moments at the paired rows; see `BridgeScheme.anchor`."""
        return ImplicitAnchor(main_rows, chebyshev.moments(reference, block, reference_rows, self.depth))

    def carry(self, main: Affinity, anchors: Sequence[ImplicitAnchor], towards: FloatArray) -> list[FloatArray]:
        """Solve for all anchors as columns of one block; see `BridgeScheme.carry`."""
        best = self._solve(main, anchors, power=1)
        if self.steps == 1:
            return best
        heights = [_height(towards, block) for block in best]
        for power in range(2, self.steps + 1):
            further = self._solve(main, anchors, power=power)
            rising = [k for k, block in enumerate(further) if _height(towards, block) > heights[k]]
            for k in rising:
                best[k], heights[k] = further[k], _height(towards, further[k])
            if not rising:
                break
        return best

    def _coefficients(self, power: int) -> FloatArray:
        return chebyshev.resolvent_coefficients(self.step, power=power, tolerance=self.tolerance)

    def _solve(self, main: Affinity, anchors: Sequence[ImplicitAnchor], *, power: int) -> list[FloatArray]:
        if main.pairwise and len(anchors) > 1:
            return [block for anchor in anchors for block in self._solve(main, [anchor], power=power)]
        coefficients = self._coefficients(power)
        rows = np.unique(np.concatenate([anchor.main_rows for anchor in anchors]))
        widths = [anchor.moments.shape[2] for anchor in anchors]
        ends = np.cumsum([0, *widths])
        sources = np.zeros((len(coefficients), len(rows), ends[-1]))
        for anchor, first, last in zip(anchors, ends[:-1], ends[1:], strict=True):
            moments = anchor.moments[: len(coefficients)]
            places = np.searchsorted(rows, anchor.main_rows)
            sources[:, places, first:last] = np.tensordot(coefficients, moments, axes=1)
        solution = chebyshev.spread(main, rows, sources)
        return [solution[:, first:last] for first, last in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class ExplicitAnchor(Anchor):
    """The reference's affinity, its right-hand sides and the pairs."""

    reference: SparseMatrix
    block: FloatArray
    main_rows: IndexArray
    reference_rows: IndexArray

    def without(self, pairs: IndexArray) -> ExplicitAnchor:
        """Return the same anchor with some of its pairs taken out of the bridge."""
        kept = np.delete(np.arange(len(self.main_rows)), pairs)
        return ExplicitAnchor(self.reference, self.block, self.main_rows[kept], self.reference_rows[kept])


@dataclass(frozen=True)
class ExplicitEuler(BridgeScheme[ExplicitAnchor]):
    """The explicit Euler scheme of the paper, equation 17, sparse throughout.

    Parameters
    ----------
    step : float
        The step size ``delta_B``, in (0, 1]; the paper's value is the default.
    steps : int
        Upper bound on steps per round (T2 of Algorithm 1); more are taken while the alignment rises.
    keep : int
        Largest entries kept in each row (K of the paper).

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.JointDiffusion(bridge=mf.ExplicitEuler(keep=5)).bridge
    ExplicitEuler(step=1e-05, steps=20, keep=5)
    """

    step: float = 1e-5
    steps: int = 20
    keep: int = 10

    def __post_init__(self) -> None:
        if not (0 < self.step <= 1 and _is_count(self.steps) and _is_count(self.keep)):
            raise InputError(f"{self} came, but a step in (0, 1] and whole steps and keep of at least 1 are expected.")

    @property
    def depth(self) -> int:
        """None to speak of: the whole reference side is kept as it is."""
        return 0

    def anchor(
        self, reference: Affinity, block: FloatArray, main_rows: IndexArray, reference_rows: IndexArray
    ) -> ExplicitAnchor:
        """Keep the reference side as it is; see `BridgeScheme.anchor`."""
        return ExplicitAnchor(reference.matrix(), block, main_rows, reference_rows)

    def carry(self, main: Affinity, anchors: Sequence[ExplicitAnchor], towards: FloatArray) -> list[FloatArray]:
        """Step every bridge while its alignment rises; see `BridgeScheme.carry`."""
        matrix = main.matrix()
        return [self._diffuse(matrix, anchor, towards) for anchor in anchors]

    def advance(self, bridge: SparseMatrix, main: SparseMatrix, reference: SparseMatrix) -> SparseMatrix:
        """One step of eq. 17a, then of 17b, each keeping the K largest of every row; rows then sum to 1."""
        bridge = keep_largest((bridge + self.step * (main @ bridge - bridge)).tocsr(), self.keep)
        bridge = keep_largest((bridge + self.step * (bridge @ reference - bridge)).tocsr(), self.keep)
        return sum_to_one(bridge)

    def _diffuse(self, main: SparseMatrix, anchor: ExplicitAnchor, towards: FloatArray) -> FloatArray:
        shape = (main.shape[0], anchor.reference.shape[0])
        ones = np.ones(len(anchor.main_rows))
        bridge = sparse.csr_array((ones, (anchor.main_rows, anchor.reference_rows)), shape=shape)
        best, height = bridge @ anchor.block, -1.0
        for _ in range(self.steps):
            bridge = self.advance(bridge, main, anchor.reference)
            block = bridge @ anchor.block
            if _height(towards, block) <= height:
                break
            best, height = block, _height(towards, block)
        return np.asarray(best)


def anchors_of(
    schemes: Sequence[BridgeScheme[AnchorType]],
    reference: Affinity,
    block: FloatArray,
    main_rows: IndexArray,
    reference_rows: IndexArray,
) -> dict[BridgeScheme[AnchorType], AnchorType]:
    """Anchors of several schemes, which share one where they are of a kind; see `BridgeScheme.anchor`."""
    made: dict[BridgeScheme[AnchorType], AnchorType] = {}
    for scheme in sorted(schemes, key=lambda scheme: scheme.depth, reverse=True):
        shared = next((anchor for other, anchor in made.items() if type(other) is type(scheme)), None)
        made[scheme] = scheme.anchor(reference, block, main_rows, reference_rows) if shared is None else shared
    return made


def transport(
    scheme: BridgeScheme[AnchorType], main: Affinity, anchors: Sequence[AnchorType], towards: FloatArray
) -> Transport:
    """Carry every anchor's first right-hand side to the main rows; the last one gives the row sums."""
    blocks = scheme.carry(main, anchors, towards)
    return Transport.of(
        np.column_stack([block[:, 0] for block in blocks]),
        np.column_stack([block[:, -1] for block in blocks]),
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 1 <= int(value) <= MOST_COUNTED


def _height(towards: FloatArray, block: FloatArray) -> float:
    """Squared alignment of the main predictor with what a bridge brings (eq. 12)."""
    arrived = Transport.of(block[:, :1].copy(), block[:, -1:])
    return float(alignment(towards, arrived.values[:, 0]) ** 2)
