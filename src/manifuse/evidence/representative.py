"""Representative: whether the labelled rows stand for all others."""

from dataclasses import dataclass
from typing import Literal

#: How far apart the own scores of ordered pairs are, by those of two rows as they usually are.
Apart = Literal["closer", "farther"]


@dataclass(frozen=True)
class Representative:
    """In what the labelled rows are like all rows, but for chance.

    Attributes
    ----------
    like_rest : bool
        The means of their features and own scores, the spread of own scores, and at pairs their distance from a
        reference's.
    of_all_times : bool
        Their mean place, if rows follow each other in time.
    of_known : bool
        How often references know them, so that labels show what references do at the majority of rows.
    of_far : bool
        Of a regression, how far out the farthest of them are.
    apart : {"closer", "farther"} or None
        Of ordered pairs, whether own scores are closer to each other, or farther apart, than those of two rows usually
        are; None if that could be chance.
    """

    like_rest: bool = True
    of_all_times: bool = True
    of_known: bool = True
    of_far: bool = True
    apart: Apart | None = None
