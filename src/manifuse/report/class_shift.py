"""What a refinement of classes changed: which rows have another class, and how sure the classes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manifuse.grid import Grid, StrongText
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.report.reference_opinion import ReferenceOpinion
from manifuse.run.refinement import Refinement


@dataclass(frozen=True, eq=False)
class ClassShift:
    """How the probabilities of rows changed.

    Attributes
    ----------
    names : tuple of str
        Of the classes.
    keys : (n,) array of str
    before, after : (n, k) array
        Probabilities.
    support : (n,) array
    """

    names: tuple[str, ...]
    keys: NDArray[np.str_]
    before: FloatArray
    after: FloatArray
    support: FloatArray

    @classmethod
    def of(cls, result: Refinement) -> ClassShift:
        """Compare the probabilities before and after."""
        main, refined = result.main, result.refined.in_scale_of(result.main)
        assert main.classes is not None, "it has classes"
        return cls(main.classes.names, main.keys, main.in_scale(main.scores), refined.scores, refined.support)

    @cached_property
    def places(self) -> tuple[IndexArray, IndexArray]:
        """The most probable class of each row before and after, (n,) each."""
        return self.before.argmax(axis=1), self.after.argmax(axis=1)

    @cached_property
    def changed(self) -> IndexArray:
        """Rows with another class, those first whose new class has become more probable by most."""
        first, then = self.places
        rows = np.flatnonzero(first != then)
        rises = self.after[rows, then[rows]] - self.before[rows, then[rows]]
        return rows[np.argsort(-rises, kind="stable")]

    def moved(self, row: int) -> str:
        """Say how the class of a row changed."""
        first, then = (int(each[row]) for each in self.places)
        was, now = f"{self.before[row, first]:.0%}", f"{self.after[row, then]:.0%}"
        if first == then:
            return f"“{self.keys[row]}” stays {self.names[then]} (was {was} probable, is {now})."
        return f"“{self.keys[row]}” changes from {self.names[first]} ({was}) to {self.names[then]} ({now})."

    @property
    def facts(self) -> dict[str, str]:
        """How many rows changed class, and how sure the classes are."""
        return {
            "rows with another class": f"{len(self.changed):,}",
            "probability of the predicted class, mean, before": f"{self.before.max(axis=1).mean():.1%}",
            "probability of the predicted class, mean, after": f"{self.after.max(axis=1).mean():.1%}",
        }

    def counts_grid(self) -> Grid:
        """How many rows went from each class, in rows, to each class, in columns."""
        counts = np.zeros((len(self.names),) * 2, dtype=np.intp)
        np.add.at(counts, self.places, 1)
        lines = ((name, *map("{:,}".format, row)) for name, row in zip(self.names, counts.tolist(), strict=True))
        return Grid(("before \\ after", *self.names), tuple(lines))

    def changes_grid(self, most: int, heard: Sequence[ReferenceOpinion]) -> Grid:
        """The rows that changed class, at most so many, and what references say of them."""
        first, then = self.places
        return Grid.of(
            {
                "id": str(self.keys[row]),
                "class before": f"{self.names[first[row]]} ({self.before[row, first[row]]:.0%})",
                "class after": StrongText(f"{self.names[then[row]]} ({self.after[row, then[row]]:.0%})"),
                **{f"“{each.table.name}”": each.cell(int(row)) for each in heard},
                "support": f"{self.support[row]:.2f}",
            }
            for row in self.changed[:most]
        )
