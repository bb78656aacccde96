"""Table columns: what the columns of a table are called, as it came and as it is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from manifuse.errors import InputError

#: Columns of refined scores and of refined classes, beside those of the ids and of each class.
OF_SCORES, OF_CLASSES = ("score", "original", "support", "uncertainty"), ("predicted", "original", "support")


@dataclass(frozen=True)
class TableColumns:
    """What the columns of a table are called.

    Attributes
    ----------
    id, score : str
    classes : tuple of str
        The column of each class, in the order of the classes; empty of scores.
    drop : tuple of str
        Columns that were left out: by name, as the index of a data frame, or because others were chosen as features.
    """

    id: str = "id"
    score: str = "score"
    classes: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    @classmethod
    def of_classes(cls, names: Sequence[str]) -> Self:
        """Call the columns of classes that came as an array: as the classes, or ``p_support`` if that is taken."""
        columns = []
        for name in names:
            column = name
            while column in ("id", *OF_CLASSES) or (column != name and column in names):
                column = f"p_{column}"
            columns.append(column)
        return cls(classes=tuple(columns))

    def demand_usable(self, name: object) -> None:
        """Refuse what a table cannot be read or written with; ``name`` is that of the table, for messages.

        Raises
        ------
        InputError
            If a column is left out that is needed, or the ids or a class are in a column that is called as one that a
            refined table has.
        """
        needed = (self.id, *(self.classes or (self.score,)))
        lost = next((each for each in needed if each in self.drop), None)
        if lost is not None:
            raise InputError(f"`drop` has {lost!r}, which {name} cannot do without; leave it out of `drop`.")
        written = OF_CLASSES if self.classes else OF_SCORES
        taken = next((each for each in (self.id, *self.classes) if each in written), None)
        if taken is not None:
            what = "its ids" if taken == self.id else "a class"
            raise InputError(f"{name} has {what} in a column {taken!r}, a name that the output has; rename it.")
