"""Relevance: which references matter, and whether that could be chance."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum, auto
from typing import Any

import numpy as np

from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT, Grid, as_html, as_text
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saveable, read, write
from manifuse.tables.containers import frame_of


class Standing(StrEnum):
    """Whether a reference took part, and why not; `words.reasons` has words for each.

    TAUGHT: only in what labels taught. DIFFERS, NOT_FOLLOWED: it, or all, are not followed. LEFT_OUT: the user ignores
    it. IDLE: its scores are all equal, or repeat the main predictor's.
    """

    TOOK_PART = auto()
    TAUGHT = auto()
    DIFFERS = auto()
    NOT_FOLLOWED = auto()
    LEFT_OUT = auto()
    IDLE = auto()

    @property
    def is_used(self) -> bool:
        """Whether the result depends on it, if it is accepted."""
        return self in (Standing.TOOK_PART, Standing.TAUGHT)


@dataclass(frozen=True)
class Relevance:
    """What a run found out about one reference.

    Attributes
    ----------
    name : str
    alignment : float
        Of the refined predictions with the reference at the pairs, in [-1, 1]. Optimistic: the predictions know its
        scores there.
    held_out_alignment : float
        Of the main predictor, as it came, with the reference at the pairs, in [-1, 1]; unbiased.
    chance_alignment : float
        For permuted pairs, ``|held_out_alignment|`` is below this 95 times of 100.
    fidelity : float or None
        How well its scores are predicted at pairs that are held out, in [-1, 1]; 1 if it knows all main rows. None if
        it does not take part.
    weight : float
        How much its standardised scores count, where the main predictor's count 1, if the result is accepted; 0 if it
        is not followed.
    reached : float
        How much is known of its scores at the main rows, as a share of their variance: the mean over rows.
    pairs : int
        Rows that it has in common with the main table.
    is_coupled : bool
        Whether it knows all main rows.
    is_straightened : bool
        Whether its scores count by their order; see `tables.straightening`.
    standing : Standing
        Whether it took part, and why not.
    worth : Gain or None
        What is lost without it, with its standard error: with labels, of the score on labels that were held out;
        without, of the correlation with which left-out references are predicted. None if it was not measured.
    """

    name: str
    alignment: float
    held_out_alignment: float
    chance_alignment: float
    fidelity: float | None
    weight: float
    reached: float
    pairs: int
    is_coupled: bool
    is_straightened: bool
    standing: Standing
    worth: Gain | None

    @property
    def agrees(self) -> bool:
        """Whether it agrees with the main predictor at the pairs, more than by chance."""
        return self.held_out_alignment > self.chance_alignment

    @property
    def speaks_in_reverse(self) -> bool:
        """Whether it is high where the main predictor is low, at the pairs and more than by chance."""
        return self.held_out_alignment < -self.chance_alignment


class RelevanceTable(tuple[Relevance, ...], Saveable):
    """What a run found out about every reference, in the order given: a tuple that knows names and prints a table.

    ``table["theirs"]`` is the entry of a reference, and ``table.to_frame(pandas)`` a data frame with a row for each.
    """

    def __getitem__(self, key: Any) -> Any:
        """Return the entry at a position or of a name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = [entry for entry in self if entry.name == key]
        if not found:
            names = ", ".join(repr(entry.name) for entry in self) or "none"
            raise KeyError(f"there is no reference {key!r}; there are: {names}")
        return found[0]

    def to_record(self) -> Any:
        """Return a list of what a file holds of each entry."""
        return [write(entry) for entry in self]

    @classmethod
    def from_record(cls, record: Any) -> RelevanceTable:
        """Read what `to_record` gives; see `Saveable.from_record`."""
        return cls(read(tuple[Relevance, ...], record))

    @property
    def weights(self) -> FloatArray:
        """Weight of every reference, shape (m,)."""
        return np.array([entry.weight for entry in self])

    @property
    def grid(self) -> Grid:
        """What is known, as a table of texts, whose columns have the names of the attributes."""
        return Grid.of(
            {
                "name": entry.name,
                "worth": ABSENT if entry.worth is None else entry.worth.text(signed=True),
                "weight": f"{entry.weight:.2f}",
                "held_out_alignment": f"{entry.held_out_alignment:.2f}",
                "chance_alignment": f"{entry.chance_alignment:.2f}",
                "fidelity": ABSENT if entry.fidelity is None else f"{entry.fidelity:.2f}",
                "reached": f"{entry.reached:.0%}",
                "pairs": f"{entry.pairs}",
            }
            for entry in self
        )

    def to_frame(self, library: Any = None) -> Any:
        """Return a data frame with a row for each reference.

        Parameters
        ----------
        library : module, optional
            As of `Refinement.to_frame`.

        Returns
        -------
        data frame
            With the columns of `Relevance`; ``fidelity`` and ``worth`` are NaN if they were not measured, and
            ``worth_error`` is the standard error of the latter.
        """
        names = [field.name for field in fields(Relevance) if field.name != "worth"]
        columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in self] for name in names}
        columns["fidelity"] = [np.nan if fidelity is None else fidelity for fidelity in columns["fidelity"]]
        worths = [(np.nan, np.nan) if e.worth is None else (e.worth.value, e.worth.standard_error) for e in self]
        columns |= {"worth": [worth for worth, _ in worths], "worth_error": [error for _, error in worths]}
        return frame_of(columns, library)

    def said_of_worth(self) -> str:
        """Say what the column "worth" means, and its unit."""
        said = "worth: what is lost without it"
        units = [entry.worth.unit.words for entry in self if entry.worth is not None]
        return f"{said}, {units[0]}" if units else f"{said} (not measured)"

    def __repr__(self) -> str:
        return f"{as_text(self.grid)}\n{self.said_of_worth()}" if self else "()"

    def _repr_html_(self) -> str:
        return as_html(self.grid) + (f"<p>{self.said_of_worth()}</p>" if self else "")
