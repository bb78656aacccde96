"""Arranging: rows that come later get the features of the fitted rows, in their order, and must have their classes."""

from collections.abc import Collection
from copy import copy
from unicodedata import normalize

from manifuse.errors import InputError, warn
from manifuse.tables.classes import names_elsewhere
from manifuse.tables.feature_names import places_of
from manifuse.tables.observations import Observations


def with_features_of(table: Observations, fitted: Observations) -> Observations:
    """Return the same rows with the features of a fitted table in its order, found by their names.

    If one of the two tables has no names, features go by position.

    Raises
    ------
    InputError
        If features are missing, or there are more or fewer of them than in a table without names.

    Warns
    -----
    ManifuseWarning
        If there are features that the fitted table does not have, which are ignored, or if only one of the two tables
        has names of features.
    """
    if fitted.table is None:
        return table
    wanted, names = fitted.feature_names, table.feature_names
    if table.table is None or wanted is None or names is None:
        came, width = 0 if table.table is None else table.table.shape[1], fitted.table.shape[1]
        if came != width:
            sides = f"{table.name} came with {came} features, but {fitted.name} was fitted with {width}"
            raise InputError(f"{sides}; give the same columns.")
        if (wanted is None) != (names is None):
            without = f"those of {table.name}" if names is None else f"the features that {fitted.name} was fitted with"
            said = f"Features are taken in the order in which {table.name} has them, because {without} have no names"
            warn("features_by_position", f"{said}; check it.")
        return table
    places = places_of(wanted, names, fitted=fitted.name, came=table.name)
    if names == wanted:
        return table
    arranged = copy(table)
    arranged.table = table.table[:, places]
    arranged.feature_names = wanted
    return arranged


def demand_alike(table: Observations, fitted: Observations) -> None:
    """Refuse rows whose scores are of another scale or of other classes than those of the fit.

    Raises
    ------
    InputError
        If they are.
    """
    names = None if table.classes is None else table.classes.names
    demand_same_classes(table.name, names, fitted)
    if table.scale != fitted.scale:
        sides = f"{table.name} has scale={table.scale!r}, but {fitted.name} was fitted with scale={fitted.scale!r}"
        raise InputError(f"{sides}; give the same.")


def demand_same_classes(name: str, classes: Collection[str] | None, fitted: Observations) -> None:
    """Refuse classes (None of scores) that are not those of a fitted table, in any order.

    Raises
    ------
    InputError
        If they are others.
    """
    names = (classes, None if fitted.classes is None else fitted.classes.names)
    ours, theirs = (None if each is None else {*names_elsewhere(each)} for each in names)
    if ours == theirs:
        return
    # Names that look the same may be composed in another way.
    composed = [{normalize("NFC", each) for each in known or ()} for known in (ours, theirs)]
    shown = ascii if composed[0] == composed[1] else str
    sides = ["one score a row" if each is None else f"classes {', '.join(map(shown, each))}" for each in names]
    raise InputError(f"{name} has {sides[0]}, but {fitted.name} was fitted with {sides[1]}; give the same.")
