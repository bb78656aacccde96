"""Tables of scores, read from a file of any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from manifuse.errors import InputError, require, warn
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.tables.archives import bytes_in_use, read_archive, read_array
from manifuse.tables.class_columns import classes_matching
from manifuse.tables.classes import Classes
from manifuse.tables.column_checks import (
    AS_USUAL,
    ColumnNames,
    choose_columns,
    demand_columns,
    demand_numbers,
)
from manifuse.tables.column_file import ColumnFile
from manifuse.tables.containers import Counting, columns_of, to_text
from manifuse.tables.default_features import OF_FILE, TableHead, demand_no_classes, without_row_numbers
from manifuse.tables.feature_names import warn_of_names
from manifuse.tables.feature_source import Source
from manifuse.tables.formats import counting_in, open_columns
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.paths import demand_file
from manifuse.tables.reading import demand_memory, reading
from manifuse.tables.table_columns import TableColumns

#: Options that name columns which a file with this ending does not have.
OWN_NAMES = {".npz": ("id", "score"), ".h5ad": ("id",)}


@dataclass(frozen=True, eq=False)
class Table:
    """One table of scores as a file holds it.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    ids : (n,) array
    scores : (n,) or (n, k) array
    source : Source or None
        The features; None if there are none.
    feature_names : tuple of str or None
        None if there are no features, or the file has no names for them.
    classes : mapping of str to str
        Of a table of classes, the name of the class in each column of ``scores``; empty of scores.
    counting : tuple of str and int, or of str and (n,) array
        What messages call a row, and the number of the first row or of each; see `counting_in`.
    called : TableColumns
        What its columns are called.
    """

    name: str
    ids: NDArray[Any]
    scores: NDArray[Any]
    source: Source | None
    feature_names: tuple[str, ...] | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    counting: Counting = ("row", 0)
    called: TableColumns = field(default_factory=TableColumns)

    @property
    def class_names(self) -> list[str] | None:
        """Names of the classes; None of scores."""
        return list(self.classes.values()) or None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def features(self) -> NDArray[Any] | None:
        """All features, shape (n, d); None if there are none."""
        return None if self.source is None else self.source.take(None)


def read_table(
    given: str,
    *,
    features: str | None = None,
    fitted: Sequence[str] | None = None,
    columns: ColumnNames = AS_USUAL,
) -> Table:
    """Read a table of ids, scores and features.

    Parameters
    ----------
    given : str
        A file with columns ``id`` and ``score``, every other column a feature; or an archive (``.npz``) of
        arrays ``ids``, ``scores`` and ``features``. ``FILE::FEATURES.npy`` takes the features from another
        file, in the same row order. In annotated data (``.h5ad``), ids are the ``obs_names``, the score is
        a column of ``obs``, and the features are an entry of ``obsm``; ``FILE::ENTRY`` chooses among several.
    features : str, optional
        A regular expression. Columns are features if their names start with a match.
    fitted : sequence of str, optional
        The only features that are needed. Other columns are not read, if the file has all of these.
    columns : ColumnNames
        What its columns are called; an archive has names of its own, and annotated data have no column of ids.

    Raises
    ------
    InputError
        If the file cannot be read as a table of scores.
    """
    file, _, entry = given.partition("::")
    path = Path(file)
    ending = path.suffix.lower()
    if features is not None and ending in (".h5ad", ".npz"):
        raise InputError(
            f"`features` came, but {path} has no columns to choose from; leave it out (FILE.h5ad::ENTRY chooses "
            "among the entries of annotated data)."
        )
    if columns.all_there and ending in (".h5ad", ".npz"):
        named = [role for role in OWN_NAMES[ending] if getattr(columns, role)]
        if named:
            raise InputError(f"`{named[0]}` came, but {path} has no such columns to name; leave it out.")
    if ending == ".h5ad":
        return _from_annotated(path, entry, columns)
    table = (
        _from_archive(path) if ending == ".npz" else open_table(path, features, fitted, columns, bare=bool(entry))[1]()
    )
    return replace(table, source=Source.loaded(read_features(Path(entry))), feature_names=None) if entry else table


def _from_archive(path: Path) -> Table:
    demand_file(path)
    # Refined tables have these columns.
    arrays = {{"id": "ids", "score": "scores"}.get(name, name): each for name, each in read_archive(path).items()}
    demand_columns(path, {name: name for name in arrays}, "ids", "scores")
    named = to_text(arrays["classes"], what=f"The classes of {path}").tolist() if "classes" in arrays else []
    if named:
        Classes.of(named, len(named), name=path.stem)
    ids = to_text(arrays["ids"], what=f"The id column of {path}")
    demand_visible(f"Column 'ids' of {path}", ids)
    classes, called = dict(zip(named, named, strict=True)), TableColumns(classes=tuple(named))
    return Table(path.stem, ids, arrays["scores"], _loaded(arrays.get("features")), classes=classes, called=called)


def open_table(
    path: Path, pattern: str | None, fitted: Sequence[str] | None, called: ColumnNames, *, bare: bool = False
) -> tuple[int, Callable[..., Table]]:
    """Open a table of columns; if ``bare``, without its features.

    Returns the number of its rows, and a function that reads all of them, or some: a first row, and how many.
    """
    file = open_columns(path, called.of_scores)
    classes = called.classes_in(path, file.types)
    if fitted is not None and called.classes is not None and not classes:
        there = shorten(told_apart(file.theirs.values()))
        raise InputError(
            f"{path} has no columns of classes (it has: {there}), but the refinement is of classes; rename them, or "
            "name them with `classes`."
        )
    names = () if bare else _feature_names_of(file, pattern, fitted, classes)

    def read(first: int = 0, count: int = file.rows) -> Table:
        return _table_of(file.window(first, min(count, file.rows - first)), names, classes)

    return file.rows, read


def _feature_names_of(
    file: ColumnFile, pattern: str | None, fitted: Sequence[str] | None, classes: Mapping[str, str]
) -> tuple[str, ...]:
    """Names of the columns of a file that are features; those with probabilities of ``classes`` never are."""
    path, scores = file.path, tuple(classes) or ("score",)
    demand_columns(path, file.theirs, "id", *scores, dropped=file.dropped, or_classes=fitted is None)
    if fitted is not None and not fitted:
        return ()
    TableColumns(file.theirs["id"], classes=tuple(classes)).demand_free(path)
    # A score beside the classes is what a user had before, and no feature.
    names = [name for name in file.types if name not in ("id", "score", *scores)]
    if pattern is not None:
        names = choose_columns(path, names, pattern)
    else:
        table = TableHead(path, {name for name, kind in file.types.items() if kind.is_numeric()}, file.look)
        names = without_row_numbers(table, names, fitted or ())
        if fitted is None and not classes:
            demand_no_classes(table, names, "score", file.theirs["score"], OF_FILE)
        if fitted is None:
            warn_of_names(path, names)
    if fitted is not None and set(fitted) < set(names):
        wanted = set(fitted)
        further = [name for name in names if name not in wanted]
        names = list(fitted)
        warn(
            "further_columns",
            f"{path} has columns that the refinement was fitted without ({shorten(', '.join(further))}); "
            "they are ignored.",
            stacklevel=2,
        )
    return tuple(names)


def _table_of(file: ColumnFile, names: tuple[str, ...], classes: Mapping[str, str]) -> Table:
    """Read ids and scores of a file, or of a window of it; its features are read now only if it is text."""
    if classes:
        ids, scores = file.take(["id"])["id"], file.take_matrix(list(classes))
    else:
        columns = file.take(["id", "score"])
        ids, scores = columns["id"], columns["score"]
        demand_numbers(file.path, file.theirs["score"], scores)
    source: Source | None = None
    if names:
        source = Source.loaded(file.take_matrix(names)) if file.is_read else Source.in_file(file, names)
    counting = counting_in(file.path)
    called = TableColumns(file.theirs["id"], file.theirs.get("score", "score"), tuple(classes), tuple(file.dropped))
    return Table(file.path.stem, ids, scores, source, names or None, classes, counting, called)


def _from_annotated(path: Path, entry: str, called: ColumnNames) -> Table:
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
        classes: dict[str, str] = {}
        score = next((name for name in (*called.score, "score") if name in there), None)
        probable = _probabilities_in(path, cells.obsm, called, needed=score is None)
        if probable is not None:
            entries.remove(probable)
            probabilities = cells.obsm[probable]
            classes, scores = {str(name): str(name) for name in probabilities.columns}, probabilities.to_numpy()
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
        columns = TableColumns(classes=tuple(classes))
        return Table(path.stem, ids, scores, _loaded(matrix), names, classes=classes, called=columns)


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


def _loaded(features: NDArray[Any] | None) -> Source | None:
    return None if features is None else Source.loaded(features)


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


def read_features(path: Path) -> NDArray[Any]:
    """Read a feature matrix from a ``.npy`` file."""
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path} ends in {path.suffix!r}, but a file of features must end in .npy; save it as .npy.")
    demand_file(path)
    return read_array(path)
