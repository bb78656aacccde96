"""Stored: rows of a feature table, sent to the workers or read by them from a file that they see, too."""

from __future__ import annotations

from dataclasses import dataclass
from mmap import mmap
from typing import Any

import numpy as np

from manifuse.diffusion.neighbours import Scaling
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class OnDisk:
    """Rows of a table that workers read for themselves."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    rows: slice

    def load(self) -> FloatArray:
        """Return the rows, still on disk."""
        try:
            whole = np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        except (OSError, ValueError) as error:
            raise InputError(
                f"A worker cannot read {self.path} ({error}); put it where all workers see it, or load the features."
            ) from None
        return np.asarray(whole[self.rows])


def stored(features: FloatArray, rows: slice | None = None) -> FloatArray | OnDisk:
    """Say where rows of a table are on disk, or return them where they are in memory."""
    rows = slice(0, len(features)) if rows is None else rows
    mapped: Any = features if isinstance(features, np.memmap) else features.base
    # A view of a part of a file has the offset of the whole; only the whole rests on the file itself.
    # Only what cannot be changed in memory is surely what stands in the file.
    whole = isinstance(mapped, np.memmap) and isinstance(mapped.base, mmap) and mapped.shape == features.shape
    if not whole or mapped.mode != "r" or mapped.filename is None or not mapped.flags.c_contiguous:
        return features[rows]
    return OnDisk(str(mapped.filename), mapped.offset, mapped.dtype.str, mapped.shape, rows)


def loaded(rows: FloatArray | OnDisk) -> FloatArray:
    """Rows, wherever they are."""
    return rows.load() if isinstance(rows, OnDisk) else rows


def scaling_of(table: FloatArray | OnDisk, standardised: bool, name: str) -> Scaling:
    """Find how a table is scaled."""
    return Scaling.of(loaded(table), standardised=standardised, name=name)


def scaled(rows: FloatArray | OnDisk, scaling: Scaling) -> FloatArray:
    """Scale rows."""
    return scaling.apply(loaded(rows))
