"""Data frames, read as observations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.class_columns import classes_matching, demand_classes
from manifuse.tables.column_names import warn_of_unused
from manifuse.tables.containers import to_floats
from manifuse.tables.default_features import CHOOSE_IN_FRAME, TableHead, default_features, demand_no_unnamed_classes
from manifuse.tables.feature_names import places_of
from manifuse.tables.table_columns import TableColumns

if TYPE_CHECKING:
    from manifuse.tables.observations import Observations

#: A regular expression of the columns of probabilities, their names, or by these names those of the classes.
ClassColumns = str | Sequence[str] | Mapping[str, str] | None


def is_frame(given: Any) -> bool:
    """Whether it is a data frame of pandas, polars or any library that narwhals knows."""
    try:
        return isinstance(nw.from_native(given, pass_through=True), nw.DataFrame | nw.LazyFrame)
    except DuplicateError:  # `columns_in` refuses it.
        return True


def demand_names(drop: Any, classes: Any) -> None:
    """Refuse columns to leave out, and columns of classes, that are no names.

    Raises
    ------
    InputError
        If they are none.
    """
    if isinstance(drop, str) or not isinstance(drop, Collection):
        remedy = f"[{drop!r}]" if isinstance(drop, str) else "names of columns, or leave it out"
        raise InputError(f"drop={drop!r} came, but a list of columns was expected; give {remedy}.")
    if classes is not None and not isinstance(classes, Collection):
        raise InputError(f"classes={classes!r} came, but names of columns were expected; give a list of them.")


def columns_in(
    frame: Any,
    names: Sequence[str],
    *,
    name: str,
    or_else: str = "Observations",
    drop: Sequence[str] = (),
    or_classes: str = "",
    second: str = "score",
) -> nw.DataFrame[Any]:
    """Return a data frame that has these columns and those to ``drop``; ``or_else`` is what could come in its place.

    The first column is the ``id``, and the ``second`` parameter names the others: scores, classes or labels.

    ``or_classes`` is added to what can be done where a column of scores is missing.

    Names of columns that are no text, such as whole numbers, become text.

    Raises
    ------
    InputError
        If it is no data frame, lacks one, or has two of one name.
    """
    try:
        table = nw.from_native(frame, pass_through=True)
        there = table.columns if isinstance(table, nw.DataFrame) else []
    except DuplicateError as error:
        twice = " ".join(str(error).split())
        raise InputError(f"{name} has two columns of one name ({twice}); rename or drop one of them.") from None
    if not isinstance(table, nw.DataFrame):
        came = type(frame).__name__
        remedy = "collect it" if isinstance(table, nw.LazyFrame) else "give one of these"
        if isinstance(frame, str | PathLike):
            remedy = "refine files with `refine_files`"
        what = name[0].lower() + name[1:] if name.startswith("The ") else name
        raise InputError(f"{came} came for {what}, but {or_else} or a data frame was expected; {remedy}.")
    levels = next((each for each in there if isinstance(each, tuple)), None)
    if levels is not None:
        raise InputError(f"{name} has columns of several levels, such as {levels!r}; give each column one name.")
    texts = [str(each) for each in there]
    if texts != there:
        repeated = next((each for each in texts if texts.count(each) > 1), None)
        if repeated is not None:
            raise InputError(f"{name} has two columns whose name is {repeated!r} as text; rename or drop one of them.")
        table, there = table.rename(dict(zip(there, texts, strict=True))), texts
    missing = next((each for each in (*names, *drop) if each not in there), None)
    if missing is None:
        return table
    index = nw.maybe_get_index(table)
    role = "id" if missing in names[:1] else second
    remedy = f"rename the column that holds it, or name it with `{role}`"
    if second != "label":
        remedy += " (of one table alone: `Observations.from_frame`)"
    if missing in names[1:]:
        remedy += or_classes
    if missing not in names:
        remedy = "correct `drop`"
    elif index is not None and missing in index.names:
        remedy = "its index is called so: call reset_index()"
    elif index is not None and missing == names[0]:
        remedy += "; if the index holds it, call reset_index()"
    raise InputError(f"{name} has no column {missing!r} (it has: {shorten(told_apart(there))}); {remedy}.")


def observe_frame(
    kind: type[Observations],
    frame: Any,
    *,
    id: str,  # noqa: A002
    score: str,
    drop: Sequence[str] = (),
    name: str,
    classes: ClassColumns,
    fitted: Observations | None = None,
    without: Sequence[str] = (),
    **more: Any,
) -> Observations:
    """Read a data frame.

    Parameters
    ----------
    kind : type
        `Observations`.
    frame, id, score, drop, name, classes
        As of `Observations.from_frame`.
    fitted : Observations, optional
        A fitted table, of which these are later rows. Its features are their features.
    without : sequence of str
        Columns that are no features and need not be there.
    **more
        As of `Observations`.

    Raises
    ------
    InputError
        If a column is missing, a feature holds anything but numbers, or features seem to be probabilities of classes.
    """
    demand_names(drop, classes)
    called, named = _called(frame, TableColumns(id, score, drop=tuple(map(str, drop))), classes, name=name)
    needed = (id, *(called.classes or (score,)))
    second, or_else = "score", ", or name columns of class probabilities with `classes`"
    if named is not None:
        # Later rows must have the classes of the fit.
        others = f"; read other classes with `Observations.from_frame`, with its classes= and name={name!r}"
        second, or_else = "classes", others if fitted is None else ""
    dropped = called.drop if fitted is None else ()
    table = columns_in(frame, needed, name=name, drop=dropped, second=second, or_classes=or_else)
    # A score beside the classes is what a user had before, and no feature.
    unread = {score, *needed, *called.drop, *without, *(() if fitted is None else fitted.called.drop)}
    left = [each for each in table.columns if each not in unread]
    kept = _without_unused(left, called, name=name)
    if fitted is None:
        features = _features_of(table, kept, called, name=name)
        called = replace(called, drop=(*called.drop, *(each for each in left if each not in features)))
    else:
        features = _features_as_in(fitted, table, kept, name=name)
    made = kind(
        (table[score] if named is None else table[list(called.classes)]).to_native(),
        table[features].to_native() if features else None,
        ids=table[id].to_native(),
        name=name,
        classes=named,
        **more,
    )
    made.called = called
    return made


def _called(
    frame: Any, named: TableColumns, classes: ClassColumns, *, name: str
) -> tuple[TableColumns, list[str] | None]:
    """Find what columns are called, with those of classes, and the names of these classes; None of scores."""
    if isinstance(classes, str):
        there = columns_in(frame, (), name=name).columns
        found: Mapping[str, str] = classes_matching(classes, (each for each in there if each != named.id))
        demand_classes(classes, found, name)
        classes = found
    called = replace(named, classes=() if classes is None else tuple(map(str, classes)))
    called.demand_usable(name)
    if classes is None:
        return called, None
    if not called.classes:
        raise InputError(
            f"No columns of classes were named for {name}; name two or more in `classes`, or give it an expression, "
            "such as 'p_(.*)'."
        )
    return called, list(classes.values() if isinstance(classes, Mapping) else classes)


def _without_unused(others: list[str], called: TableColumns, *, name: str) -> list[str]:
    """Leave out, with a warning, what is called id or score beside the column that was named so."""
    roles = {"id": called.id, "score": "score" if called.classes else called.score}
    unused = [role for role, named in roles.items() if named != role and role in others]
    for role in unused:
        warn_of_unused(name, role, roles[role])
    return [each for each in others if each not in unused]


def _features_of(table: nw.DataFrame[Any], others: list[str], called: TableColumns, *, name: str) -> list[str]:
    """Names of the features among the ``others``, which must hold no probabilities."""
    score = None if called.classes else called.score
    others = default_features(_head_of(table, name), others, score, score or "")
    _demand_numeric(table, others, name=name, or_else=", or drop it")
    return others


def _head_of(table: nw.DataFrame[Any], name: str) -> TableHead:
    def look(names: Sequence[str], rows: int | None) -> FloatArray:
        # By place, because polars takes a name such as "^x.*$" for a pattern.
        chosen = table[list(names)].head(len(table) if rows is None else rows)
        return to_floats(chosen, what=f"The features of {name}", dimensions=2)

    return TableHead(name, {each for each, kind in table.schema.items() if kind.is_numeric()}, look, CHOOSE_IN_FRAME)


def demand_scores_alone(frame: Any, unread: Collection[str], *, name: str) -> None:
    """Refuse a data frame of scores whose features, all columns but those ``unread``, seem to be probabilities."""
    table = columns_in(frame, (), name=name)
    demand_no_unnamed_classes(_head_of(table, name), [each for each in table.columns if each not in unread])


def _demand_numeric(table: nw.DataFrame[Any], features: Sequence[str], *, name: str, or_else: str = "") -> None:
    """Refuse features that are no numbers; ``or_else`` is what can be done other than to convert them."""
    types = table.schema
    wrong = [each for each in features if not (types[each].is_numeric() or types[each] == nw.Boolean)]
    if wrong:
        also = shorten(", ".join(map(repr, wrong[1:])))
        more = f" (so {'is' if len(wrong) == 2 else 'are'} {also})" if len(wrong) > 1 else ""
        found = types[wrong[0]]
        # What narwhals does not know, such as a sparse column, has a name in its own library.
        kind = str(getattr(table[wrong[0]].to_native(), "dtype", found)) if found == nw.Unknown else str(found)
        way = "with astype(float)" if found in (nw.Unknown, nw.Object) else "to numbers or encode it"
        advice = "give dates as days since a first day" if found.is_temporal() else f"convert it {way}"
        if found.is_nested() or (found == nw.Object and len(table) and np.ndim(table[wrong[0]][0]) > 0):
            advice = "give each of its entries a column"
        raise InputError(
            f"Column {wrong[0]!r} of {name} is of type {kind}{more}, but numbers were expected; {advice}{or_else}."
        )


def _features_as_in(fitted: Observations, table: nw.DataFrame[Any], others: list[str], *, name: str) -> list[str]:
    """Names of the features that a fitted table has, which the ``others`` must have, too; warn of further ones."""
    if fitted.table is None:
        return []
    if fitted.feature_names is None:
        return others
    places = places_of(fitted.feature_names, tuple(others), fitted=fitted.name, came=name)
    features = [others[place] for place in places]
    _demand_numeric(table, features, name=name)
    return features
