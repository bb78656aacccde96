"""Annotated data (``.h5ad``) as a table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from manifuse.cli.column_checks import demand_columns, demand_numbers, demand_visible
from manifuse.cli.paths import demand_file, reading
from manifuse.errors import InputError, require
from manifuse.files import demand_memory


def read_annotated(path: Path, entry: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Read annotated data: ids are the ``obs_names``, scores the column ``score`` of ``obs``.

    Parameters
    ----------
    path : Path
    entry : str
        The entry of ``obsm`` that holds the features; may be empty if ``obsm`` has no entry or only one.

    Returns
    -------
    ids : (n,) array
    scores : (n,) array
    features : (n, d) array or None

    Raises
    ------
    InputError
        If the file cannot be read as annotated data.
    """
    anndata = require("anndata", extra="anndata", purpose=f"Reading {path}")
    h5py = require("h5py", extra="anndata", purpose=f"Reading {path}")
    demand_file(path)
    with reading(path, "annotated data"):
        with h5py.File(path, "r") as file:
            demand_memory(path, _size_of(file, h5py))
        # Backed: the matrix is not needed here, and stays in the file.
        cells = anndata.read_h5ad(path, backed="r")
    with closing(cells.file):
        demand_columns(path, map(str, cells.obs.columns), "score")
        ids, scores = cells.obs_names.to_numpy(), cells.obs["score"].to_numpy()
        demand_numbers(path, "score", scores)
        demand_visible(path, "obs_names", ids)
        entries = list(cells.obsm)
        if entry not in entries and (entry or len(entries) > 1):
            known = ", ".join(entries) or "none"
            raise InputError(
                f"{path} has these entries in obsm: {known}; name the one that holds the features as {path}::ENTRY."
            )
        features = cells.obsm[entry or entries[0]] if entries else None
        if features is not None:
            features = np.asarray(features.toarray() if issparse(features) else features)
        return ids, scores, features


def _size_of(file: Any, h5py: Any) -> float:
    """Return the bytes that everything but the matrix takes in memory, by the shapes in the file; sparse as dense."""
    sizes: list[float] = []

    def add(name: str, entry: Any) -> None:
        if name.partition("/")[0] in ("X", "raw"):
            return
        if isinstance(entry, h5py.Dataset):
            sizes.append(float(entry.size or 0) * entry.dtype.itemsize)
        elif name.startswith("obsm/") and "shape" in entry.attrs:
            sizes.append(8.0 * float(np.prod(entry.attrs["shape"], dtype=np.float64)))

    file.visititems(add)
    return sum(sizes)
