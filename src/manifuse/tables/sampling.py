"""Sampling: which rows of large tables are fitted."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import BoolArray, IndexArray, drawn_by_place, order_of_rows
from manifuse.kernels.keys import locate
from manifuse.kernels.rows import inverse_order
from manifuse.tables.drawing_order import ordering_scores
from manifuse.tables.observations import Observations

#: So many pairs are all in the sample.
WHOLE_PAIRS = 2000


def sample_rows(
    main: Observations,
    references: Sequence[Observations],
    bare: Sequence[bool],
    size: int,
    rng: np.random.Generator,
    labelled: IndexArray | None = None,
) -> tuple[IndexArray, list[IndexArray]]:
    """Choose about ``size`` rows of every table, or all where there are fewer.

    In the sample of the main table are all labelled rows; then pairs, up to `WHOLE_PAIRS` or half of ``size``,
    whichever is more, as many of each reference; then others. So the sample may be larger than ``size``. In the sample
    of a reference are its rows of these pairs, then others. A reference that has all main rows, or came without
    features, stays whole, because its scores are looked up. Rows or references that come in another order give the
    same sample.

    Parameters
    ----------
    main : Observations
        Only scores and ids are read, because features may still be in files.
    references : sequence of Observations
    bare : sequence of bool
        Whether each reference came without features.
    size : int
    rng : numpy.random.Generator
    labelled : (l,) array of int, optional
        Main rows.

    Returns
    -------
    main_rows : array of int
        Rising.
    reference_rows : list of arrays of int
        Likewise, of every reference.
    """
    seed = int(rng.integers(2**63))
    drawing, *tables = (_Drawing.of(table, seed) for table in (main, *references))
    found = [locate(main.keys, reference.keys) for reference in references]
    bridged = sorted(
        ((int(known.sum()), drawing.digest(known), known) for _, known in found if not known.all()),
        key=lambda each: each[:2],
    )
    # A reference that lacks some main rows must lack one of the sample, or it would seem to be known on all rows.
    unpaired = [drawing.draw(np.flatnonzero(~known), 1, digest) for _, digest, known in bridged]
    rows: IndexArray = np.unique(np.concatenate([*unpaired, [] if labelled is None else labelled]).astype(np.intp))
    room = max(size // 2, WHOLE_PAIRS)
    for left, (_, digest, known) in zip(range(len(bridged), 0, -1), bridged, strict=True):
        more = drawing.draw(np.setdiff1d(np.flatnonzero(known), rows), room // left, digest)
        room -= len(more)
        rows = np.union1d(rows, more)
    rows = drawing.fill_up(rows, size)
    chosen: list[IndexArray] = []
    for table, is_bare, (partners, known) in zip(tables, bare, found, strict=True):
        whole = is_bare or known.all()
        chosen.append(np.arange(len(table.places)) if whole else table.fill_up(partners[rows][known[rows]], size))
    return rows, chosen


@dataclass(frozen=True, eq=False)
class _Drawing:
    """What draws rows by their scores, and by ids where these are equal, so that their order does not count.

    Attributes
    ----------
    places : (n,) array of int
    seed : int
    """

    places: IndexArray
    seed: int

    @classmethod
    def of(cls, table: Observations, seed: int) -> _Drawing:
        return cls(inverse_order(order_of_rows(np.arange(len(table)), ordering_scores(table), table.keys)), seed)

    def digest(self, known: BoolArray) -> int:
        """A number for a set of rows (n,)."""
        return int.from_bytes(hashlib.blake2b(np.sort(self.places[known]).tobytes(), digest_size=8).digest())

    def draw(self, rows: IndexArray, count: int, purpose: int) -> IndexArray:
        """Draw ``count`` of some rows, or take all if there are fewer; each ``purpose`` has its own random numbers."""
        if len(rows) <= count:
            return rows
        return drawn_by_place(self.places, rows, count, np.random.default_rng([self.seed, purpose]))

    def fill_up(self, kept: IndexArray, size: int) -> IndexArray:
        """Draw from all rows until there are ``size`` of them with those that are kept; rising."""
        others = np.setdiff1d(np.arange(len(self.places)), kept, assume_unique=True)
        return np.sort(np.concatenate([kept, self.draw(others, max(0, size - len(kept)), 0)]))
