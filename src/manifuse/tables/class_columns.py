"""Class columns: which columns of a table have probabilities of classes, by a regular expression of their names."""

import re
from collections.abc import Collection, Iterable

from manifuse.errors import InputError
from manifuse.grid import many


def classes_matching(pattern: str, names: Iterable[str]) -> dict[str, str]:
    """The columns that match a regular expression, and the name of the class of each: what its group matches.

    Raises
    ------
    InputError
        If it is not a regular expression.
    """
    expression, found = expression_of(pattern, "classes"), {}
    for name in names:
        match = expression.fullmatch(name)
        if match is not None:
            found[name] = match.group(1) if expression.groups and match.group(1) else name
    return found


def demand_classes(pattern: str, found: Collection[str], table: object) -> None:
    """Refuse a table of which fewer than two columns match.

    Raises
    ------
    InputError
        If there are fewer.
    """
    if len(found) < 2:
        verb = "matches" if len(found) == 1 else "match"
        raise InputError(
            f"`classes` {pattern!r} came, but {many(len(found), 'column')} of {table} {verb} it; give an expression "
            "that matches the whole name of every column with probabilities, as 'p_(.*)' does; if only one of two "
            "classes has a column, add one for the other class, or name that column with `score`."
        )


def expression_of(pattern: str, parameter: str) -> re.Pattern[str]:
    """Return the regular expression that came for a parameter.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return re.compile(pattern.encode().decode())
    except (re.error, UnicodeEncodeError) as error:
        raise InputError(f"`{parameter}` {pattern!r} is not a regular expression ({error}); correct it.") from None
