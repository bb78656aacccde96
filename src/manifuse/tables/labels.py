"""Labels: the known truth of some main rows, as grades, as ordered pairs or as classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.column_checks import LIMIT, OF_LIMITS
from manifuse.tables.column_names import PAIR
from manifuse.tables.containers import all_numbers, demand_one_order, to_floats, to_keys, to_numpy, to_text
from manifuse.tables.row_names import name_rows


class RankLabels:
    """Graded labels of some main rows, or ordered pairs of ids.

    Parameters
    ----------
    ids : (l,) array, series or sequence
        Rows of the main table whose truth is known.
    grades : (l,) array, series or sequence of numbers
        Their truth, larger is better. For regression, the target value.
    groups : (l,) array, series or sequence, optional
        What each row is of, such as its patient, day or batch. Labels of one group are held out together, so that a
        gain is measured as if on rows of other groups.

    Raises
    ------
    InputError
        If lengths differ, an id repeats, a grade is not finite, or all grades are equal.

    See Also
    --------
    RankLabels.from_pairs : when only the order of some pairs is known.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.RankLabels(["a", "b", "c"], [0, 1, 1])
    RankLabels(3 graded rows)
    >>> mf.RankLabels.from_pairs(better=["b", "c"], worse=["a", "a"])
    RankLabels(2 ordered pairs)
    """

    def __init__(self, ids: Any, grades: Any, groups: Any = None) -> None:
        self.keys: NDArray[np.str_] = to_keys(ids, what="The id column of the labels")
        values = to_grades(grades, what="The labels")
        demand_one_order("Ids, grades and groups of the labels", ids, grades, groups)
        self.grades: FloatArray | None = values
        self.better: IndexArray = np.empty(0, dtype=np.intp)
        self.worse: IndexArray = np.empty(0, dtype=np.intp)
        _demand_one_each(len(self.keys), len(values), "value", "one value")
        self.groups: NDArray[np.str_] | None = None if groups is None else _groups_of(groups, len(values))
        bad = np.flatnonzero(~np.isfinite(values)).tolist()
        if bad:
            raise InputError(
                f"The labels are NaN or infinite in {name_rows(bad)}; leave out rows without a label "
                "(`drop_invalid` of `refine_files`)."
            )
        if len(np.unique(values)) < 2:
            raise InputError(
                "The labels are all equal, so they teach nothing; give at least two different values, or "
                "refine without labels."
            )

    @classmethod
    def from_pairs(cls, better: Any, worse: Any) -> RankLabels:
        """Make labels from pairs of rows of which one is known to be better.

        Parameters
        ----------
        better, worse : (p,) array, series or sequence
            Ids. Row ``better[i]`` is better than row ``worse[i]``. A pair that comes several times counts once, with
            a warning. Of more than 750 pairs, so many teach, drawn at random. Pairs that go in a circle are accepted
            with a warning. Not all of them can be right, but each of them is evidence.

        Raises
        ------
        InputError
            If lengths differ, there is no pair, or a pair comes in both orders.
        """
        demand_one_order("The better and the worse ids of the labels", better, worse)
        above = to_text(better, what="The better ids of the labels").tolist()
        below = to_text(worse, what="The worse ids of the labels").tolist()
        if len(above) != len(below) or not above:
            raise InputError(f"{len(above)} better and {len(below)} worse ids came; give equally many, at least one.")
        # In their order, each once.
        pairs = dict.fromkeys(zip(above, below, strict=True))
        clash = next((pair for pair in pairs if pair[::-1] in pairs), None)
        if clash is not None and clash[0] == clash[1]:
            raise InputError(f"The labels put {clash[0]!r} above itself; leave that pair out.")
        if clash is not None:
            raise InputError(f"The labels put {clash[0]!r} both above and below {clash[1]!r}; keep one of the two.")
        if len(pairs) < len(above):
            again = many(len(above) - len(pairs), "ordered pair")
            warn("repeated_pairs", f"{again} of the labels came again; each counts once.")
            above, below = map(list, zip(*pairs, strict=True))
        labels = cls.__new__(cls)
        labels.keys, positions = np.unique(np.array(above + below, dtype=np.str_), return_inverse=True)
        labels.grades = labels.groups = None
        labels.better, labels.worse = positions[: len(above)], positions[len(above) :]
        if not _is_an_order(labels.better, labels.worse, len(labels.keys)):
            warn(
                "circular_labels",
                "The labels go in a circle, such as a above b above c above a, so they cannot all be right; leave out "
                "those you trust least.",
            )
        return labels

    def __len__(self) -> int:
        """Number of labelled rows, or of ordered pairs."""
        return len(self.better) if self.grades is None else len(self.keys)

    def __repr__(self) -> str:
        count = many(len(self.better), "ordered pair") if self.grades is None else many(len(self.keys), "graded row")
        return f"RankLabels({count})"


class ClassLabels:
    """The known classes of some main rows.

    Parameters
    ----------
    ids : (l,) array, series or sequence
        Rows of the main table whose class is known.
    classes : (l,) array, series or sequence
        The name of the class of each, as the main table names it.
    groups : (l,) array, series or sequence, optional
        As of `RankLabels`.

    Raises
    ------
    InputError
        If lengths differ, an id repeats, a class is missing, or all are equal.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.ClassLabels(["a", "b", "c"], ["cat", "dog", "cat"])
    ClassLabels(3 rows, 2 classes)
    """

    def __init__(self, ids: Any, classes: Any, groups: Any = None) -> None:
        self.keys: NDArray[np.str_] = to_keys(ids, what="The id column of the labels")
        self.names: NDArray[np.str_] = to_text(classes, what="The labels")
        demand_one_order("Ids, classes and groups of the labels", ids, classes, groups)
        self.are_numbers = all_numbers(classes, what="The labels")
        _demand_one_each(len(self.keys), len(self.names), "class", "one")
        self.groups: NDArray[np.str_] | None = None if groups is None else _groups_of(groups, len(self.keys))
        if len(set(self.names.tolist())) < 2:
            raise InputError(
                "The labels are all of one class, so they tell none apart; give labels of two or more, "
                "or refine without labels."
            )

    def __len__(self) -> int:
        """Number of labelled rows."""
        return len(self.keys)

    def __repr__(self) -> str:
        return f"ClassLabels({many(len(self.keys), 'row')}, {many(len({*self.names.tolist()}), 'class')})"


def to_grades(values: Any, *, what: str) -> FloatArray:
    """Read the truth of rows as numbers (l,); text is refused, because it does not say which value is larger.

    Raises
    ------
    InputError
        If it is text, or cannot be read as numbers.
    """
    entries = to_numpy(values, what=what)
    texts = [each for each in entries.ravel().tolist() if isinstance(each, str)]
    if texts:
        limit = next((each for each in texts if LIMIT.fullmatch(each)), None)
        text = limit or texts[0]
        remedy = "give each value as a number, the larger one for what means more, such as 1 for yes and 0 for no"
        remedy += "; for probabilities of classes, give `ClassLabels`"
        with suppress(ValueError):
            float(text)
            remedy = "convert it to numbers"
        if limit:
            remedy = OF_LIMITS
        raise InputError(
            f"{what} came as text, such as {text!r}, but scores are refined by numbers, of which larger is better; "
            f"{remedy}."
        )
    return to_floats(values, what=what, dimensions=1)


def warn_of_unused_label(*names: str) -> None:
    """Warn that columns were named as those of labels, though no labels came."""
    said = ", ".join(map(repr, names))
    warn(
        "unused_label",
        f"`label` names {said}, but no labels came, so nothing is learned from it; give the table that has it as "
        "`labels`.",
    )


def demand_one_kind(name: object, columns: Collection[str], label: str = "label") -> None:
    """Refuse a table that has labels and ordered pairs."""
    if {label, *PAIR} <= {*columns}:
        raise InputError(
            f"{name} has a label for each row and ordered pairs, better and worse; leave one of both out."
        )


def warn_of_unused_groups(name: object) -> None:
    """Warn that a table of ordered pairs has groups."""
    said = f"{name} has ordered pairs, which are held out by their rows, so the groups beside them are not used."
    warn("unused_groups", said)


def warn_of_ungrouped(name: object, texts: Mapping[str, NDArray[Any]], *, remedy: str) -> None:
    """Warn of columns of text beside labels (l,) whose values repeat, as those of groups do, if none is of groups.

    The ``remedy`` makes one of them the groups.
    """
    for column, values in texts.items():
        count = len({*map(str, values.tolist())})
        if 1 < count <= len(values) / 2:
            warn(
                "ungrouped_labels",
                f"{name} has {column!r} beside the labels, a column of text with {count} values, which is not read; "
                f"{remedy} if rows of one value are of one thing, so that they are held out together, or leave it out "
                "with `drop`.",
            )


def _groups_of(groups: Any, rows: int) -> NDArray[np.str_]:
    """Check the groups of so many labels, and bring them into one form."""
    names = np.array(to_text(groups, what="The group column of the labels"), dtype=np.str_)
    _demand_one_each(rows, len(names), "group", "one group")
    blank = np.flatnonzero(np.char.strip(names) == "")
    if len(blank):
        raise InputError(
            f"The group column of the labels has no value in {name_rows(blank.tolist())}; give every label a group, "
            "or leave groups out."
        )
    if len(set(names.tolist())) < 2:
        raise InputError("All labels are of one group, so none can be held out; give other groups, or leave them out.")
    return names


def _demand_one_each(ids: int, others: int, noun: str, one: str) -> None:
    """Refuse labels that have not as many of a noun as ids."""
    if ids != others:
        raise InputError(f"The labels have {many(ids, 'id')} but {many(others, noun)}; give {one} per id.")


def _is_an_order(better: IndexArray, worse: IndexArray, rows: int) -> bool:
    """Whether the pairs have no circle, so that every row is a strong component of its own."""
    steps = sparse.csr_array((np.ones(len(better)), (better, worse)), shape=(rows, rows))
    components, _ = connected_components(steps, directed=True, connection="strong")
    return bool(components == rows)
