"""ExplicitEuler: bridges by the explicit Euler scheme of the paper (eq. 17), as sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from manifuse.diffusion.schemes import BridgeScheme, height, is_count, is_number
from manifuse.errors import InputError
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.sparse_rows import keep_largest, sum_to_one


@dataclass(frozen=True, eq=False)
class ExplicitAnchor:
    """The affinity of the reference's graph, its right-hand sides and the pairs."""

    reference: SparseMatrix
    block: FloatArray
    main_rows: IndexArray
    reference_rows: IndexArray

    def without(self, pairs: IndexArray) -> ExplicitAnchor:
        """Return the same anchor with some of its pairs taken out of the bridge."""
        kept = np.delete(np.arange(len(self.main_rows)), pairs)
        return ExplicitAnchor(self.reference, self.block, self.main_rows[kept], self.reference_rows[kept])


#: The largest number of steps; the paper takes 20, and more would take minutes.
MOST_STEPS = 1000


@dataclass(frozen=True)
class ExplicitEuler(BridgeScheme):
    """The explicit Euler scheme of the paper, sparse throughout (equation 17).

    Parameters
    ----------
    step : float
        The step size ``delta_B``, in (0, 1]; the paper's value is the default.
    steps : int
        Upper bound on steps per round (T2 of Algorithm 1), at most 1,000; more are taken while the alignment rises.
    keep : int
        Largest entries kept in each row (K of the paper).

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Algorithm1(bridge=mf.ExplicitEuler(keep=5)).bridge
    ExplicitEuler(step=1e-05, steps=20, keep=5)
    """

    step: float = 1e-5
    steps: int = 20
    keep: int = 10

    def __post_init__(self) -> None:
        if not (
            is_number(self.step)
            and 0 < self.step <= 1
            and is_count(self.steps)
            and self.steps <= MOST_STEPS
            and is_count(self.keep)
        ):
            raise InputError(
                f"{self} came, but a step in (0, 1], 1 to {MOST_STEPS} whole steps and a whole keep of at least 1 are "
                "expected."
            )

    @property
    def depth(self) -> int:
        """Zero: an anchor of this kind always keeps the whole reference side."""
        return 0

    def anchor_bytes(self, pairs: float, edges: float) -> float:
        """Memory of the reference's affinity; see `BridgeScheme.anchor_bytes`."""
        del pairs
        return edges

    def carry_bytes(self, pairs: float, edges: float) -> float:
        """Memory of a bridge before all but its largest entries are dropped; see `BridgeScheme.carry_bytes`."""
        del pairs
        return 12 * edges * self.keep

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
        """Take one step of eq. 17a, then one of 17b; each keeps the K largest of every row. Rows then sum to 1."""
        bridge = keep_largest((bridge + self.step * (main @ bridge - bridge)).tocsr(), self.keep)
        bridge = keep_largest((bridge + self.step * (bridge @ reference - bridge)).tocsr(), self.keep)
        return sum_to_one(bridge)

    def _diffuse(self, main: SparseMatrix, anchor: ExplicitAnchor, towards: FloatArray) -> FloatArray:
        shape = (main.shape[0], anchor.reference.shape[0])
        ones = np.ones(len(anchor.main_rows))
        bridge = sparse.csr_array((ones, (anchor.main_rows, anchor.reference_rows)), shape=shape)
        best, highest = bridge @ anchor.block, -1.0
        for _ in range(self.steps):
            bridge = self.advance(bridge, main, anchor.reference)
            block = bridge @ anchor.block
            if height(towards, block) <= highest:
                break
            best, highest = block, height(towards, block)
        return np.asarray(best)
