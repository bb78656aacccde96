"""Bridge schemes: how pairs become bridges that carry a reference's scores to the main table (section 2.2.2).

The diffusion never needs the entries of a bridge ``B``, only ``B g`` (eq. 12) and its row sums ``B 1``; both come from
one block ``[g, 1]`` of right-hand sides.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from numbers import Real
from typing import Any, Self

import numpy as np

from manifuse.diffusion.transport import Transport
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.records import Saveable

#: The largest count that is accepted; larger ones leave the range of indices.
MOST_COUNTED = 10**9


class BridgeScheme(Saveable):
    """A way to diffuse the pair labels ``B(0)`` (eq. 13) into a bridge; a frozen dataclass of its parameters.

    Its anchor is the reference side of a bridge: what the pairs send over. It stays fixed while the main side changes.
    An anchor has the ``main_rows`` (p,) of the pairs, and ``without(pairs)`` returns it with some pairs taken out.
    """

    def to_record(self) -> dict[str, Any]:
        """Return its name and its hyperparameters."""
        return {"scheme": type(self).__name__, **vars(self)}

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Make the scheme of a name; see `Saveable.from_record`."""
        kinds = {scheme.__name__: scheme for scheme in cls.__subclasses__()}
        return kinds[record["scheme"]](**{name: value for name, value in record.items() if name != "scheme"})

    @property
    @abstractmethod
    def depth(self) -> int:
        """How much of the reference side an anchor has; an anchor also serves schemes of its kind with less depth."""

    @abstractmethod
    def anchor_bytes(self, pairs: float, edges: float) -> float:
        """Memory of an anchor with so many pairs of one score, whose reference has ``edges`` bytes of edges."""

    @abstractmethod
    def carry_bytes(self, pairs: float, edges: float) -> float:
        """Memory of carrying over one anchor, beside the anchor, when the main graph has so many ``edges``."""

    @abstractmethod
    def anchor(self, reference: Affinity, block: FloatArray, main_rows: IndexArray, reference_rows: IndexArray) -> Any:
        """Prepare the reference side.

        Parameters
        ----------
        reference : Affinity
            Of the reference's graph, with n_k rows.
        block : (n_k, c + 1) array
            Right-hand sides: the scores of the reference, and at last all ones.
        main_rows, reference_rows : (p,) array of int
            The pairs.
        """

    @abstractmethod
    def carry(self, main: Affinity, anchors: Sequence[Any], towards: FloatArray) -> list[FloatArray]:
        """Compute ``B @ block`` for every anchor, each (n, c + 1).

        Parameters
        ----------
        main : Affinity
            Of the main table's graph, with n rows.
        anchors : sequence of Anchor
        towards : (n,) or (n, c) array
            The main predictor. Further bridge steps are taken while its alignment with the scores that arrive rises
            (Algorithm 1).
        """


def is_count(value: object, smallest: int = 1) -> bool:
    """Whether a value is a whole number from ``smallest`` to `MOST_COUNTED`; truth values are not numbers."""
    return (
        isinstance(value, int | np.integer) and not isinstance(value, bool) and smallest <= int(value) <= MOST_COUNTED
    )


def is_number(value: object) -> bool:
    """Whether a value is a real number, possibly infinite, that a float can hold; truth values are not numbers."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def height(towards: FloatArray, block: FloatArray) -> float:
    """Squared alignment of the main predictor with what a bridge carries over (eq. 11 and 12)."""
    arrived = Transport.of_blocks([block], towards.shape)
    return inner(on_sphere(towards), on_sphere(arrived.values[..., 0])) ** 2
