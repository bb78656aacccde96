"""Annotated data: tables of scores in ``.h5ad`` files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from manifuse.errors import InputError, require
from manifuse.tables.archives import bytes_in_use
from manifuse.tables.class_columns import classes_matching
from manifuse.tables.column_checks import demand_columns, demand_numbers
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.containers import columns_of
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.paths import demand_file
from manifuse.tables.reading import demand_memory, reading
from manifuse.tables.table import Table
from manifuse.tables.table_columns import TableColumns


def read_annotated(path: Path, entry: str, called: ColumnNames) -> Table:
    """Read annotated data; ``entry`` may be empty if ``obsm`` has no entry or only one.

    If ``classes`` is given, it matches the name of the entry of ``obsm`` with their probabilities, a data frame.
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
        there, entries, ids = list(map(str, cells.obs.columns)), list(cells.obsm), cells.obs_names.to_numpy()
        columns, classes = TableColumns(), {}
        score = next((name for name in (*called.score, "score") if name in there), None)
        probable = _probabilities_in(path, cells.obsm, called, needed=score is None)
        if probable is not None:
            entries.remove(probable)
            probabilities = cells.obsm[probable]
            theirs, scores = list(map(str, probabilities.columns)), probabilities.to_numpy()
            columns = TableColumns.of_classes(theirs)
            classes = dict(zip(columns.classes, theirs, strict=True))
        else:
            score = score or "score"
            demand_columns(path, {name: name for name in there}, score)
            column = cells.obs[score]
            # Numbers and truth values of pandas may have gaps.
            scores = column.to_numpy(*([np.float64, False, np.nan] if column.dtype.kind in "biuf" else []))
            demand_numbers(path, score, scores)
        demand_visible(f"Column 'obs_names' of {path}", ids)
        if entry not in entries and (entry or len(entries) > 1):
            known = ", ".join(entries) or "none"
            raise InputError(
                f"{path} has these entries in obsm: {known}; name the one that holds the features as {path}::ENTRY."
            )
        features: Any = cells.obsm[entry or entries[0]] if entries else None
        is_sparse = issparse(features)
        matrix = None if features is None else np.asarray(features.toarray() if is_sparse else features)
        names = None if features is None else columns_of(features)
        return Table(path.stem, ids, scores, matrix, names, classes=classes, called=columns)


def _probabilities_in(path: Path, entries: Mapping[str, Any], called: ColumnNames, *, needed: bool) -> str | None:
    """Name of the entry of ``obsm`` with probabilities of classes: a data frame, whose columns name the classes.

    A main table that has no scores needs one.
    """
    pattern = called.classes
    if not isinstance(pattern, str):
        return None
    matching = [name for name in classes_matching(pattern, entries) if hasattr(entries[name], "columns")]
    if len(matching) > 1 or (called.all_there and needed and not matching):
        raise InputError(
            f"`classes` {pattern!r} came, but it matches {len(matching)} data frames in obsm of {path}; name one, "
            "with a column for each class."
        )
    return matching[0] if matching else None


def _size_of(file: Any, h5py: Any) -> float:
    """Return the bytes that everything but the matrix takes in memory, by the shapes in the file; sparse as dense."""
    sizes: list[float] = []

    def add(name: str, entry: Any) -> None:
        if name.partition("/")[0] in ("X", "raw"):
            return
        if isinstance(entry, h5py.Dataset):
            sizes.append(bytes_in_use(entry.size or 0, entry.dtype))
        elif name.startswith("obsm/") and "shape" in entry.attrs:
            sizes.append(8.0 * float(np.prod(entry.attrs["shape"], dtype=np.float64)))

    file.visititems(add)
    return sum(sizes)
