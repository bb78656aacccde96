"""Tables of scores, read from a file of any format."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.tables.annotated_data import read_annotated
from manifuse.tables.archives import read_archive, read_features
from manifuse.tables.class_columns import classes_matching, demand_classes
from manifuse.tables.classes import Classes
from manifuse.tables.column_checks import OF_CLASSES, choose_columns, demand_columns, demand_numbers
from manifuse.tables.column_file import ColumnFile, FileFeatures
from manifuse.tables.column_names import AS_USUAL, ColumnNames, demand_there, demand_used
from manifuse.tables.containers import to_text
from manifuse.tables.default_features import CHOOSE_IN_FILE, TableHead, default_features, demand_no_unnamed_classes
from manifuse.tables.formats import BY_COLUMN, FORMATS, counting_in, open_columns
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.table import Table
from manifuse.tables.table_columns import TableColumns

#: What refined tables in archives call these arrays.
OTHER_NAMES = {"id": "ids", "score": "scores"}

#: Rows of a window.
WINDOW = 1 << 17


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
    if ending == ".h5ad":
        return read_annotated(path, entry, columns, features, fitted)
    if ending == ".npz":
        table = _from_archive(path, features)
    else:
        table = open_table(path, features, fitted, columns, bare=bool(entry))[1]()
    if entry:
        table = replace(table, source=np.atleast_1d(read_features(Path(entry))), feature_names=None)
    table.demand_one_length()
    return table


def _from_archive(path: Path, pattern: str | None) -> Table:
    # An array without dimensions holds one number.
    came = {name: np.atleast_1d(each) for name, each in read_archive(path).items()}
    for name, other in OTHER_NAMES.items():
        if {name, other} <= came.keys():
            raise InputError(f"{path} has the arrays {name!r} and {other!r}, which mean the same; leave one out.")
    arrays = {OTHER_NAMES.get(name, name): each for name, each in came.items()}
    demand_columns(path, {name: name for name in arrays}, "ids", "scores")
    if pattern is not None and "features" in arrays:
        raise InputError(f"`features` came, but {path} has no columns to choose from; leave it out.")
    if arrays["scores"].ndim == 2 and arrays["scores"].shape[1] > 1 and "classes" not in arrays:
        raise InputError(
            f"{path} has scores of shape {arrays['scores'].shape} and no names of classes; add an array named "
            "'classes' with a name for each column if they are probabilities, or reshape them."
        )
    named = to_text(arrays["classes"], what=f"The classes of {path}").tolist() if "classes" in arrays else []
    if named:
        Classes.of(named, len(named), name=path.stem)
    ids = to_text(arrays["ids"], what=f"The id column of {path}")
    demand_visible(f"Column 'ids' of {path}", ids)
    called = TableColumns.of_classes(named)
    classes = dict(zip(called.classes, named, strict=True))
    return Table(path.stem, ids, arrays["scores"], arrays.get("features"), classes=classes, called=called)


def open_table(
    path: Path, pattern: str | None, fitted: Sequence[str] | None, called: ColumnNames, *, bare: bool = False
) -> tuple[int, Callable[..., Table]]:
    """Open a table of columns; if ``bare``, without its features.

    Returns the number of its rows, and a function that reads all of them, or some: a first row, and how many.
    """
    file = open_columns(path, called.of_scores)
    classes = called.classes_in(file.types)
    if called.classes is not None and not classes:
        if fitted is not None:
            there = shorten(told_apart(file.theirs.values()))
            raise InputError(
                f"{path} has no columns of classes (it has: {there}), but the refinement is of classes; rename them, "
                "or name them with `classes`."
            )
        if isinstance(called.classes, str) and "score" not in file.types:
            demand_classes(called.classes, classes_matching(called.classes, file.types), path)
    demand_columns(
        path,
        file.theirs,
        "id",
        *(() if classes else ("score",)),
        also={"id": called.id, "score": called.score},
        dropped=file.dropped,
        or_classes=fitted is None,
    )
    names = () if bare else _feature_names_of(file, pattern, fitted, classes)
    if called.classes is not None and not classes and pattern is None:
        demand_no_unnamed_classes(_head_of(file), names)
    used = {"id", "score", *classes, *names}
    left = [] if bare or fitted is not None else [name for name in file.types if name not in used]

    def read(first: int = 0, count: int = file.rows) -> Table:
        return _table_of(file.window(first, min(count, file.rows - first)), names, classes, left)

    return file.rows, read


def _feature_names_of(
    file: ColumnFile, pattern: str | None, fitted: Sequence[str] | None, classes: Mapping[str, str]
) -> tuple[str, ...]:
    """Names of the columns of a file that are features; those with probabilities of ``classes`` never are."""
    path = file.path
    if fitted is not None and not fitted:
        return ()
    TableColumns(file.theirs["id"], classes=tuple(classes)).demand_usable(path)
    # A score beside the classes is what a user had before, and no feature.
    names = [name for name in file.types if name not in ("id", "score", *classes)]
    # A table of ids and scores alone has nothing to choose from.
    if pattern is not None and names:
        names = choose_columns(path, names, pattern)
    elif fitted is None:
        score = None if classes else "score"
        names = default_features(_head_of(file), names, score, file.theirs.get("score", ""))
    if fitted is not None and set(fitted) < set(names):
        wanted = set(fitted)
        further = [name for name in names if name not in wanted]
        names = list(fitted)
        warn(
            "further_columns",
            f"{path} has columns that the refinement was fitted without "
            f"({shorten(', '.join(name.strip() or 'one without a name' for name in further))}); they are ignored.",
        )
    return tuple(names)


def _head_of(file: ColumnFile) -> TableHead:
    numeric = {name for name, kind in file.types.items() if kind.is_numeric()}
    return TableHead(file.path, numeric, file.look, CHOOSE_IN_FILE)


def _table_of(file: ColumnFile, names: tuple[str, ...], classes: Mapping[str, str], left: Sequence[str]) -> Table:
    """Read ids and scores of a file, or of a window of it; its features are read now only if it is text.

    Columns that were not asked for are ``left`` out, as are those that were dropped.
    """
    if classes:
        ids, scores = file.take(["id"])["id"], file.take_matrix(list(classes))
    else:
        columns = file.take(["id", "score"])
        ids, scores = columns["id"], columns["score"]
        demand_numbers(file.path, file.theirs["score"], scores, instead=OF_CLASSES)
    source: NDArray[Any] | FileFeatures | None = None
    if names:
        source = file.take_matrix(names) if file.is_read else FileFeatures(file, names)
    noun, line = counting_in(file.path)
    called = TableColumns(file.theirs["id"], file.theirs.get("score", "score"), tuple(classes), (*file.dropped, *left))
    return Table(file.path.stem, ids, scores, source, names or None, classes, (noun, line + file.first), called)


@dataclass(frozen=True)
class LaterTable:
    """A table in a file, as later rows are read from it.

    Attributes
    ----------
    given : str
        As `read_table` takes it.
    features : str or None
    fitted : tuple of str or None
        The features that are read; None if they have no names.
    columns : ColumnNames
    drop : tuple of str
        Columns to leave out that must be there.
    """

    given: str
    features: str | None
    fitted: tuple[str, ...] | None
    columns: ColumnNames
    drop: tuple[str, ...] = ()

    @property
    def is_windowed(self) -> bool:
        """Whether its format allows to read some rows alone."""
        return os.path.isdir(self.given) or FORMATS.get(Path(self.given).suffix.lower()) in BY_COLUMN

    def open(self) -> tuple[int, Callable[[int, int], Table]]:
        """Return the number of rows, and a function that returns so many of them from a first one on."""
        if self.is_windowed:
            rows, read = open_table(Path(self.given), self.features, self.fitted, self.columns)
        else:
            table = read_table(self.given, features=self.features, fitted=self.fitted, columns=self.columns)
            rows, read = len(table), lambda first, count: table.part(range(first, min(first + count, len(table))))
        called = read(0, 1).called
        demand_there(self.drop, [called.drop])
        demand_used(self.columns, [called])
        return rows, read
