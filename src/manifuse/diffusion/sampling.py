"""Sampling: which rows of large tables are fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.keys import locate

#: So many pairs are all in the sample.
FEW_PAIRS = 2000


def sample_rows(
    main: NDArray[np.str_],
    references: Sequence[NDArray[np.str_]],
    size: int,
    rng: np.random.Generator,
    labelled: IndexArray | None = None,
) -> tuple[IndexArray, list[IndexArray]]:
    """Choose about ``size`` rows of every table, or all where there are fewer.

    In the sample of the main table are all labelled rows; then pairs, up to `FEW_PAIRS` or half of ``size``, whichever
    is more, as many of each reference; then others. So the sample may be larger than ``size``. In the sample of a
    reference are its rows of these pairs, then others. A reference that has all main rows stays whole, because its
    scores are looked up.

    Parameters
    ----------
    main : (n,) array of str
        Ids.
    references : sequence of (n_k,) arrays of str
        Ids of every reference.
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
    found = [locate(main, reference) for reference in references]
    bridged = [known for _, known in found if not known.all()]
    # A reference that lacks some main rows must lack one of the sample, or it would seem to be known on all rows.
    unpaired = [rng.choice(np.flatnonzero(~known), 1) for known in bridged]
    rows: IndexArray = np.unique(np.concatenate([*unpaired, [] if labelled is None else labelled]).astype(np.intp))
    room = max(size // 2, FEW_PAIRS)
    for left, known in zip(range(len(bridged), 0, -1), sorted(bridged, key=np.count_nonzero), strict=True):
        more = np.setdiff1d(np.flatnonzero(known), rows)
        if len(more) > room // left:
            more = rng.choice(more, room // left, replace=False)
        room -= len(more)
        rows = np.union1d(rows, more)
    rows = _filled_up(rows, len(main), size, rng)
    chosen: list[IndexArray] = []
    for reference, (partners, known) in zip(references, found, strict=True):
        if known.all():
            chosen.append(np.arange(len(reference)))
        else:
            paired = np.sort(partners[rows][known[rows]])
            chosen.append(_filled_up(paired, len(reference), size, rng))
    return rows, chosen


def _filled_up(kept: IndexArray, rows: int, size: int, rng: np.random.Generator) -> IndexArray:
    """Draw from ``rows`` until there are ``size`` of them with those that are kept; in their order."""
    others = np.setdiff1d(np.arange(rows), kept, assume_unique=True)
    more = max(0, min(size - len(kept), len(others)))
    return np.sort(np.concatenate([kept, rng.choice(others, more, replace=False)]))
