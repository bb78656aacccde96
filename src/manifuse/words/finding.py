"""A finding, and lists of names in its sentences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: The most names in a sentence; further ones are counted.
NAMED = 3


@dataclass(frozen=True)
class Finding:
    """One thing that speaks for a refinement, taken or not, or against it.

    Attributes
    ----------
    code : str
        What it is about.
    speaks_for : bool
        Or against.
    sentence : str
    remedy : str or None
        The parameter that helps, if one does.
    """

    code: str
    speaks_for: bool
    sentence: str
    remedy: str | None = None


def named(entries: Iterable[str]) -> str:
    """Return the first names in quotation marks, and how many more there are."""
    names = [f"“{name}”" for name in entries]
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return listed([*names[:NAMED], *more])


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; empty without any."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
