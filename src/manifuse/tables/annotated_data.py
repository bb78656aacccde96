"""Annotated data: tables of scores in ``.h5ad`` files."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from manifuse.errors import InputError, require
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.archives import bytes_in_use
from manifuse.tables.class_columns import classes_matching
from manifuse.tables.column_checks import OF_CLASSES, choose_columns, demand_columns, demand_numbers
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.containers import columns_of, to_floats
from manifuse.tables.default_features import CHOOSE_IN_FILE, TableHead, default_features
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.paths import demand_file, demand_memory, reading
from manifuse.tables.table import Table
from manifuse.tables.table_columns import TableColumns


def read_annotated(
    path: Path,
    entry: str,
    called: ColumnNames,
    pattern: str | None = None,
    fitted: Sequence[str] | None = None,
) -> Table:
    """Read annotated data; ``entry`` may be empty if ``obsm`` has no entry or only one.

    If ``classes`` is given, it matches the name of the entry of ``obsm`` with their probabilities, a data frame. Of an
    entry that is a data frame, ``pattern`` chooses features, as `read_table` does of a file.
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
        named = called.score if called.all_there and called.score else (*called.score, "score")
        score = next((name for name in named if name in there), None)
        probable = _probabilities_in(path, cells.obsm, called, needed=score is None)
        if probable is not None:
            entries.remove(probable)
            probabilities = cells.obsm[probable]
            theirs, scores = list(map(str, probabilities.columns)), probabilities.to_numpy()
            columns = TableColumns.of_classes(theirs)
            classes = dict(zip(columns.classes, theirs, strict=True))
        else:
            score = score or named[-1]
            columns, classes = TableColumns(score=score), {}
            demand_columns(path, {name: name for name in there}, score)
            column = cells.obs[score]
            # Numbers and truth values of pandas may have gaps.
            scores = column.to_numpy(*([np.float64, False, np.nan] if column.dtype.kind in "biuf" else []))
            demand_numbers(path, score, scores, instead=OF_CLASSES)
        demand_visible(f"Column 'obs_names' of {path}", ids)
        matrix, names, dropped = _features_in(
            path, _entry_of(path, cells.obsm, entries, entry), called, pattern, fitted
        )
        return Table(path.stem, ids, scores, matrix, names, classes=classes, called=replace(columns, drop=dropped))


def _entry_of(path: Path, there: Mapping[str, Any], entries: Sequence[str], entry: str) -> Any:
    """The entry of ``obsm`` that was named, or the only one of ``entries``; None if there is none."""
    if entry not in entries and (entry or len(entries) > 1):
        known = ", ".join(entries) or "none"
        lacks = f", and not {entry!r}" if entry else ""
        raise InputError(
            f"{path} has these entries in obsm: {known}{lacks}; name the one that holds the features as {path}::ENTRY."
        )
    return there[entry or entries[0]] if entries else None


def _features_in(
    path: Path, entry: Any, called: ColumnNames, pattern: str | None, fitted: Sequence[str] | None
) -> tuple[NDArray[Any] | None, tuple[str, ...] | None, tuple[str, ...]]:
    """Features of an entry, their names and those that are left out; of a data frame by the rules for columns."""
    if entry is None:
        return None, None, ()
    theirs = columns_of(entry)
    if theirs is None:
        if pattern is not None:
            raise InputError(
                f"`features` came, but {path} has no columns to choose from; leave it out ({path}::ENTRY chooses "
                "among the entries of annotated data)."
            )
        is_sparse = issparse(entry)
        return np.asarray(entry.toarray() if is_sparse else entry), None, ()
    drop = called.of_scores.drop
    names = [name for name in theirs if name not in drop]
    chosen = _chosen(path, entry.set_axis(theirs, axis=1), names, pattern, fitted)
    matrix = entry.iloc[:, [theirs.index(name) for name in chosen]].to_numpy() if chosen else None
    left = [name for name in theirs if name in drop or (fitted is None and name not in chosen)]
    return matrix, tuple(chosen) or None, tuple(left)


def _chosen(path: Path, entry: Any, names: list[str], pattern: str | None, fitted: Sequence[str] | None) -> list[str]:
    """Names of the columns of a data frame that are features."""
    if pattern is not None:
        return choose_columns(path, names, pattern)
    if fitted is not None:
        return names

    def look(chosen: Sequence[str], rows: int | None) -> FloatArray:
        shown = entry[list(chosen)].head(len(entry) if rows is None else rows)
        return to_floats(shown, what=f"The features of {path}", dimensions=2)

    numeric = {name for name in names if entry[name].dtype.kind in "biuf"}
    return default_features(TableHead(path, numeric, look, CHOOSE_IN_FILE), names)


def _probabilities_in(path: Path, entries: Mapping[str, Any], called: ColumnNames, *, needed: bool) -> str | None:
    """Name of the entry of ``obsm`` with probabilities of classes: a data frame, whose columns name the classes.

    A main table that has no scores needs one.
    """
    pattern = called.classes
    if not isinstance(pattern, str):
        return None
    named = classes_matching(pattern, entries)
    matching = [name for name in named if hasattr(entries[name], "columns")]
    if named and not matching:
        raise InputError(
            f"The entry {next(iter(named))!r} of obsm in {path} is an array, which does not say which column is which "
            "class; store a data frame there, with the name of a class for each column."
        )
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
