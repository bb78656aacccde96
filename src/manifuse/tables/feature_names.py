"""Names of features: which they are, and where those of one table are in another."""

import math
import re
from collections.abc import Sequence
from typing import Any

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.tables.containers import columns_of, to_text

#: The most names in a sentence, and of features that have something in common.
MOST, NAMED = 10, 5

#: Names of columns that are seldom features: truths, parts of a cross-validation, row numbers, further ids, and what
#: refined tables have.
NO_FEATURES = re.compile(
    r"labels?|targets?|truth|outcomes?|class|grades?|groups?|folds?|split|cv|index|idx|row|rows|unnamed.*|uuid|"
    r"(.*[^a-z])?id|id[^a-z].*|(.*[^a-z])?(no|nr|number|key)|original|support|uncertainty",
    re.IGNORECASE,
)


def warn_of_names(table: object, names: Sequence[str]) -> None:
    """Warn of features that are named like labels, folds, ids or results."""
    strange = [name for name in names if NO_FEATURES.fullmatch(name)]
    if strange:
        shown = ", ".join(strange[:MOST])
        warn(
            "suspicious_names",
            f"{table} has columns that are named like labels, folds, ids or results ({shown}), and they are used as "
            "features; leave them out with `drop` if they are not.",
        )


def columns_said(names: Sequence[str] | None, places: Sequence[int]) -> str:
    """Name the features at the ``places``, or count them from 0 if they have no names."""
    said = [str(place) if names is None else repr(names[place]) for place in places]
    return f"column{_listed(said)} of the features"


def names_of(features: Any, given: Sequence[str] | None, width: int, *, name: str) -> tuple[str, ...] | None:
    """Names of the ``width`` features, given or those of a data frame; None if there are none."""
    if given is None:
        names = None if features is None else columns_of(features)
    else:
        names = tuple(to_text(given, what=f"The feature names of {name}", most=math.inf).tolist())
    if names is None:
        return None
    if len(names) != width or len(set(names)) < width:
        raise InputError(
            f"{name} has {many(width, 'feature')} but {many(len(names), 'name')} of features, {len(set(names))} "
            "of them different; give each feature a name of its own."
        )
    return names


def places_of(wanted: Sequence[str], names: Sequence[str], *, fitted: str, came: str) -> list[int]:
    """Places among ``names`` of the features that the table ``fitted`` has, for rows of the table ``came``.

    Raises
    ------
    InputError
        If some are missing.

    Warns
    -----
    ManifuseWarning
        If there are further ones. They are ignored.
    """
    places = {name: place for place, name in enumerate(names)}
    missing, known = [repr(name) for name in wanted if name not in places], set(wanted)
    further = [repr(name) for name in names if name not in known]
    if missing:
        said = f"{came} lacks the feature{_listed(missing)}, with which {fitted} was fitted"
        there = f", and has the feature{_listed(further)}, without which it was fitted" if further else ""
        raise InputError(f"{said}{there}; give the same columns.")
    if further:
        said = f"{came} has the feature{_listed(further)}, which {fitted} was fitted without; this is ignored."
        warn("further_columns", said)
    return [places[name] for name in wanted]


def _listed(names: list[str]) -> str:
    """End a noun, in the plural if there are several ``names``, and list the first of them and how many more."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'s' if len(names) > 1 else ''} {', '.join(names[:NAMED])}{more}"
