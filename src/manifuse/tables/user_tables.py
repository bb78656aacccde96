"""Tables as users have them: observations and labels as they are, and data frames by the names of their columns."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import many
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.keys import is_blank
from manifuse.tables.class_columns import classes_matching
from manifuse.tables.column_names import PAIR, demand_there
from manifuse.tables.containers import to_numpy
from manifuse.tables.frame_reading import (
    ClassColumns,
    columns_in,
    demand_names,
    demand_scores_alone,
    is_frame,
    observe_frame,
)
from manifuse.tables.labels import (
    ClassLabels,
    RankLabels,
    demand_one_kind,
    warn_of_ungrouped,
    warn_of_unused_groups,
    warn_of_unused_label,
)
from manifuse.tables.observations import Observations
from manifuse.tables.row_names import rows_as
from manifuse.tables.scales import Scale

#: Types of columns of text.
TEXT = (nw.String, nw.Categorical, nw.Enum)

#: What messages call a data frame of labels.
LABELS = "The table of labels"

Labels = RankLabels | ClassLabels


@dataclass(frozen=True)
class FrameColumns:
    """What the columns of data frames are called. `Observations` and labels are taken as they are.

    Attributes
    ----------
    id, score, label : str
    classes : str, sequence of str, or mapping of str to str, or None
        As of `Observations.from_frame`.
    group : str or None
        None for ``group``, if the labels have such a column.
    drop : sequence of str
        Columns that are no features, of the tables that have them.
    scale : {"score", "probability", "logits"}, optional
        What main scores are, and those of classes in all tables.
    """

    id: str = "id"
    score: str = "score"
    classes: ClassColumns = None
    label: str = "label"
    group: str | None = None
    drop: Sequence[str] = ()
    scale: Scale | None = None

    def __post_init__(self) -> None:
        for parameter in ("id", "score", "label", "group"):
            column = getattr(self, parameter)
            if not isinstance(column, str) and not (parameter == "group" and column is None):
                raise InputError(
                    f"`{parameter}` = {shorten(repr(column))} came, but the name of one column, as all data frames "
                    "have it, was expected; read those that have another with `Observations.from_frame`."
                )
        demand_names(self.drop, self.classes)

    @classmethod
    def like(cls, main: Observations, **given: Any) -> Self:
        """Return the names that are ``given``, not None, and else those that a main table came with."""
        called, classes = main.called, None
        if main.classes is not None:
            classes = dict(zip(called.classes, main.classes.names, strict=True))
        came = {"id": called.id, "score": called.score, "classes": classes, "drop": called.drop, "scale": main.scale}
        return cls(**came | {name: each for name, each in given.items() if each is not None})

    def read(
        self, main: Any, references: Any, labels: Any
    ) -> tuple[Observations, tuple[Observations, ...], Labels | None]:
        """Read a main table, its references and its labels.

        Columns that are called like the columns of labels are no features, nor are those that the user names so.

        Raises
        ------
        InputError
            If one of them is neither a data frame nor what it should become, or cannot be used.
        """
        truth, references = self.truth_in(labels), _several(references)
        if labels is None and self.label != FrameColumns.label:
            warn_of_unused_label(self.label)
        self.demand_dropped(main, references, labels)
        table = self.observe(main, name="main", without=truth)
        others = self.observe_all(references, without=truth)
        if self.classes is not None and is_frame(main) and all(each.classes is None for each in (table, *others)):
            # No table has the classes that were named, which this refuses.
            self._observe(main, "main", self.scale)
        known = self.labels_of(labels, table)
        if known is not None and known.groups is None and is_frame(labels):
            _warn_of_ungrouped(labels, self.label, {self.id, self.score, self.label, *map(str, self.drop)})
        return table, others, known

    def truth_in(self, labels: Any) -> list[str]:
        """Columns of labels and groups: those that a table of labels has, or that the user names."""
        there = [] if labels is None else [self.label]
        if labels is not None and not isinstance(labels, RankLabels | ClassLabels):
            there = columns_in(labels, (), name=LABELS, or_else="RankLabels, ClassLabels").columns
        named = (self.group, None if self.label == FrameColumns.label else self.label)
        names = dict.fromkeys((self.label, self.group or "group", FrameColumns.label))
        return [name for name in names if name in there or name in named]

    def demand_dropped(self, main: Any, references: Any, labels: Any = None, *, name: str = "main") -> None:
        """Refuse columns to leave out that neither main rows nor references nor labels have, if one is a data frame.

        Raises
        ------
        InputError
            If there is such a column, or one of the tables is no table.
        """
        tables = [(name, main), *_numbered(_several(references)), *([(LABELS, labels)] if is_frame(labels) else [])]
        if self.drop and any(is_frame(given) for _, given in tables):
            there = [
                given.called.drop if isinstance(given, Observations) else columns_in(given, (), name=each).columns
                for each, given in tables
            ]
            demand_there(map(str, self.drop), there)

    def observe(self, given: Any, *, name: str, **more: Any) -> Observations:
        """Read a main table, or later rows, with classes or scores; ``more`` is what `observe_frame` takes."""
        there = columns_in(given, (), name=name).columns if is_frame(given) else []
        drop = [name for name in map(str, self.drop) if name in there]
        return self._for_table(given, name)._observe(given, name, self.scale, drop=drop, **more)

    def observe_all(
        self, given: Any, names: Sequence[str] | None = None, *, without: Sequence[str] = ()
    ) -> tuple[Observations, ...]:
        """Read references, one or several. Those in data frames have the ``names``, else numbers.

        One that has none of the classes, but scores, is read as scores.

        Raises
        ------
        InputError
            If one cannot be read, or there are more or fewer data frames than names.
        """
        tables = _several(given)
        if names is not None and len(names) != len(tables) and any(map(is_frame, tables)):
            raise InputError(
                f"{many(len(tables), 'reference')} came where {len(names)} were expected, and a data frame has no "
                "name that says which it is; give all of them in their order."
            )
        if names is None or len(names) != len(tables):
            names = [name for name, _ in _numbered(tables)]
        read = []
        for table, each in zip(tables, names, strict=True):
            called = self._for_table(table, each)
            # What main scores are says nothing of classes, nor what classes are of scores.
            scale = None if called.classes is None or called.scale == "score" else called.scale
            read.append(called._observe(table, each, scale, without=(*self.drop, *without)))
        return tuple(read)

    def _for_table(self, given: Any, name: str) -> Self:
        """Return the names for one table, which may have scores where others have classes."""
        if self.classes is None or not is_frame(given):
            return self
        there = columns_in(given, (), name=name).columns
        named = {*map(str, self.classes)} & {*there}
        found = classes_matching(self.classes, there) if isinstance(self.classes, str) else named
        if len(found) > 1 or self.score not in there:
            return self
        demand_scores_alone(given, {self.id, self.score, *map(str, self.drop)}, name=name)
        return replace(self, classes=None)

    def labels_of(self, given: Any, main: Observations) -> Labels | None:
        """Read labels of a main table: of the rows that have one, or ordered pairs.

        Raises
        ------
        InputError
            If they are neither labels nor a data frame, lack a column, or cannot be used.
        """
        if given is None or isinstance(given, RankLabels | ClassLabels):
            return given
        there = columns_in(given, (), name=LABELS, or_else="RankLabels, ClassLabels").columns
        demand_one_kind(LABELS, there, self.label)
        if {*PAIR} <= {*there}:
            table = columns_in(given, () if self.group is None else (self.group,), name=LABELS)
            if self.group is not None or "group" in there:
                warn_of_unused_groups(LABELS)
            return RankLabels.from_pairs(table["better"].to_native(), table["worse"].to_native())
        group = self.group or ("group" if "group" in there else None)
        table = columns_in(given, (self.id, self.label, *([group] if group else [])), name=LABELS, second="label")
        known = _labelled(table, self.label)
        if not len(known):
            raise InputError(f"{LABELS} has no value in {self.label!r}; give the truth of some rows, or no labels.")
        ids, truths, *groups = (
            table[name][known].to_native() for name in (self.id, self.label, group) if name is not None
        )
        with rows_as(("row", known)):
            return (RankLabels if main.classes is None else ClassLabels)(ids, truths, *groups)

    def _observe(self, given: Any, name: str, scale: Scale | None, **more: Any) -> Observations:
        if isinstance(given, Observations):
            return given
        return observe_frame(
            Observations, given, id=self.id, score=self.score, classes=self.classes, name=name, scale=scale, **more
        )


def _labelled(table: nw.DataFrame[Any], label: str) -> IndexArray:
    """Rows of a table of labels that have one."""
    values = to_numpy(table[label].to_native(), what="The labels")
    return np.flatnonzero([not is_blank(value) for value in values.tolist()])


def _warn_of_ungrouped(labels: Any, label: str, unasked: Collection[str]) -> None:
    """Warn of columns of text in a data frame of labels that may be groups, but those ``unasked``."""
    table = columns_in(labels, (), name=LABELS)
    texts = [name for name, kind in table.schema.items() if kind in TEXT and name not in unasked]
    if texts and label in table.columns:
        known = _labelled(table, label)
        warn_of_ungrouped(
            LABELS, {name: table[name].to_numpy()[known] for name in texts}, remedy="name it with `group`"
        )


def _several(given: Any) -> tuple[Any, ...]:
    """References, of which one may come by itself."""
    return (given,) if is_frame(given) or not isinstance(given, Iterable) else tuple(given)


def _numbered(tables: Sequence[Any]) -> list[tuple[str, Any]]:
    """References with the names of those that have none."""
    return [(f"reference {number}", table) for number, table in enumerate(tables, 1)]
