"""Sampling: which rows of large tables are fitted."""

import hashlib
from collections.abc import Sequence

import numpy as np

from manifuse.kernels.arrays import BoolArray, IndexArray, drawn_by_place, order_of_rows
from manifuse.kernels.keys import locate
from manifuse.tables.drawing_order import ordering_scores
from manifuse.tables.observations import Observations

#: So many pairs are all in the sample.
WHOLE_PAIRS = 2000


def sample_rows(
    main: Observations,
    references: Sequence[Observations],
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
    # By scores, and by ids where these are equal, so that the order of rows does not count.
    places, *others = (
        np.argsort(order_of_rows(np.arange(len(table)), ordering_scores(table), table.keys))
        for table in (main, *references)
    )
    found = [locate(main.keys, reference.keys) for reference in references]
    bridged = sorted(
        ((int(known.sum()), _digest(places, known), known) for _, known in found if not known.all()),
        key=lambda each: each[:2],
    )
    # A reference that lacks some main rows must lack one of the sample, or it would seem to be known on all rows.
    unpaired = [_draw(places, np.flatnonzero(~known), 1, (seed, digest)) for _, digest, known in bridged]
    rows: IndexArray = np.unique(np.concatenate([*unpaired, [] if labelled is None else labelled]).astype(np.intp))
    room = max(size // 2, WHOLE_PAIRS)
    for left, (_, digest, known) in zip(range(len(bridged), 0, -1), bridged, strict=True):
        more = _draw(places, np.setdiff1d(np.flatnonzero(known), rows), room // left, (seed, digest))
        room -= len(more)
        rows = np.union1d(rows, more)
    rows = _fill_up(places, rows, size, seed)
    chosen: list[IndexArray] = []
    for reference, theirs, (partners, known) in zip(references, others, found, strict=True):
        whole = reference.table is None or known.all()
        chosen.append(np.arange(len(theirs)) if whole else _fill_up(theirs, partners[rows][known[rows]], size, seed))
    return rows, chosen


def _digest(places: IndexArray, known: BoolArray) -> int:
    """A number for a set of rows (n,)."""
    return int.from_bytes(hashlib.blake2b(np.sort(places[known]).tobytes(), digest_size=8).digest())


def _draw(places: IndexArray, rows: IndexArray, count: int, seed: Sequence[int]) -> IndexArray:
    """Draw ``count`` of some rows, or take all if there are fewer; each purpose has a ``seed`` of its own."""
    return drawn_by_place(places, rows, count, np.random.default_rng(seed))


def _fill_up(places: IndexArray, kept: IndexArray, size: int, seed: int) -> IndexArray:
    """Draw from all rows until there are ``size`` of them with those that are kept; rising."""
    others = np.setdiff1d(np.arange(len(places)), kept, assume_unique=True)
    return np.sort(np.concatenate([kept, _draw(places, others, max(0, size - len(kept)), (seed, 0))]))
