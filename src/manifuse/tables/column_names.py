"""Column names: what the columns of tables in files are called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from manifuse.errors import InputError, warn
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.tables.class_columns import classes_matching
from manifuse.tables.table_columns import TableColumns

#: The columns of a table of ordered pairs.
PAIR = ("better", "worse")


@dataclass(frozen=True)
class ColumnNames:
    """What columns of tables are called, where they have other names than manifuse's.

    In a table that has a column of such a name, that column is read, and one with manifuse's own name is left out. A
    column that was named is not dropped, unless the table has another of the names.

    Attributes
    ----------
    id, score, label : tuple of str
        Names beside manifuse's own.
    drop : tuple of str
        Columns that are not read.
    classes : str, mapping of str to str, or None
        A regular expression that matches the columns with probabilities of classes; its group is the class's name. Or
        the class of every column.
    all_there : bool
        Whether a table must have one of the names that were given. Of several tables, only the main one must.
    roles : tuple of str
        Which of id, score and label a file has.
    text : tuple of str
        Columns whose values stay text, so that ids and names keep their leading zeros.
    """

    id: tuple[str, ...] = ()
    score: tuple[str, ...] = ()
    label: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    classes: str | Mapping[str, str] | None = None
    all_there: bool = False
    roles: tuple[str, ...] = ("id", "score")
    text: tuple[str, ...] = ("id",)

    def classes_in(self, there: Iterable[str]) -> dict[str, str]:
        """Columns of a table with probabilities of classes, and the name of the class of each; none if fewer than two.

        Raises
        ------
        InputError
            If the pattern is not a regular expression.
        """
        called = self.classes or {}
        if not isinstance(called, str):
            return {name: called[name] for name in there if name in called}
        found = classes_matching(called, (name for name in there if name != "id"))
        return found if len(found) > 1 else {}

    def of_labels(self, classes: Collection[str]) -> ColumnNames:
        """The same names for a file of labels, which name ``classes`` if there are any."""
        names = ("label",) if classes else ()
        return replace(self, roles=("id", "label"), text=("id", "group", *PAIR, *names))

    @property
    def of_scores(self) -> ColumnNames:
        """The same names for a table of scores, in which a label that was named is no feature."""
        kept = ("id", "score", "label", *self.id, *self.score)
        return replace(self, drop=(*self.drop, *(name for name in self.label if name not in kept)))

    def beside_labels(self, theirs: Mapping[str, str], dropped: Collection[str]) -> ColumnNames:
        """The same names for tables of scores that labels come with: what is called like labels is no feature.

        ``theirs`` is what the file of labels calls each column, and ``dropped`` what was left out of it.
        """
        truth = {theirs[name] for name in ("label", "group") if name in theirs} | ({"label"} & {*dropped})
        return replace(self, drop=(*self.drop, *sorted(truth - {"id", "score", *self.id, *self.score})))

    def unused(self, there: Collection[str]) -> list[tuple[str, str]]:
        """Columns called id, score or label beside a column that was named as that; each with that column."""
        every = {name for role in self.roles for name in getattr(self, role)}
        found = []
        for role in self.roles:
            named = [name for name in getattr(self, role) if name in there]
            if named and role in there and role not in every and role not in self.drop:
                found.append((role, next((name for name in named if name not in self.drop), named[0])))
        return found

    def ours(self, path: Path, there: Iterable[str]) -> dict[str, str]:
        """Return our name of every column of a file that is read.

        Raises
        ------
        InputError
            If a column that must be there is not, or two columns would have the same name.
        """
        there = list(there)
        given: dict[str, str] = {}
        for role in self.roles:
            named = set(getattr(self, role))
            both = sorted(named & given.keys())
            if both:
                options = " and ".join(f"`{each}`" for each in self.roles)
                raise InputError(f"{options} both name the column {both[0]!r}; name two columns.")
            has_scores_elsewhere = role == "score" and self.classes_in(there)
            if self.all_there and named and not named & {*there} and not has_scores_elsewhere:
                known = shorten(told_apart(there)) or "none"
                wanted = " or ".join(map(repr, getattr(self, role)))
                raise InputError(
                    f"{path} has no column {wanted} for its {role}, but only {known}; name one of these with `{role}`."
                )
            # A table that has several of the names has the one that is not left out.
            others = (named & {*there}) - {*self.drop}
            given |= dict.fromkeys(others or named, role)
        dropped = {*self.drop, *(role for role, _ in self.unused(there))}
        names = {name: given.get(name, name) for name in there if name in given or name not in dropped}
        first: dict[str, str] = {}
        for name in sorted(names, key=lambda name: name != names[name]):
            ours = names[name]
            if first.setdefault(ours, name) != name:
                remedy = f"leave one of them out with `drop` {first[ours]} or `drop` {name}"
                raise InputError(
                    f"{path} has the columns {first[ours]!r} and {name!r}, and both would be the {ours}; {remedy}."
                )
        return names


#: Columns with manifuse's own names.
AS_USUAL = ColumnNames()


def warn_of_unused(name: object, role: str, named: str) -> None:
    """Warn that a table has a column that is called like a role, beside the one that was named so."""
    warn("unused_column", f"{name} has {role!r} beside {named!r}, which was named as the {role}; it is left out.")


def demand_used(columns: ColumnNames, tables: Sequence[TableColumns]) -> None:
    """Refuse names of ids, or of scores, if none of the tables has one of them."""
    for role in ("id", "score"):
        named = getattr(columns, role)
        if not any(getattr(each, role) in named for each in tables):
            demand_there(named, (), role)


def demand_there(names: Iterable[str], tables: Sequence[Collection[str]], option: str = "drop") -> None:
    """Refuse names that were given for an ``option`` if no table has such a column: a misspelt one has no effect.

    ``tables`` are the columns of each table that the option could mean, such as those that it left out.
    """
    for name in names:
        if not any(name in there for there in tables):
            spelt = {column.strip().lower(): column for there in tables for column in there}
            nearest = spelt.get(name.strip().lower())
            meant = "correct it" if nearest is None else f"did you mean {nearest!r}? Correct it"
            meant += ", and name each column by itself" if "," in name else ""
            meant += ", and give the table that has it as `labels`" if option == "label" else ""
            beside = " beside ids, scores and classes" if option == "drop" else ""
            shown = name if name and name == name.strip() else repr(name)
            raise InputError(f"`{option}` {shown} came, but no table has such a column{beside}; {meant}.")
