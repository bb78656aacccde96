"""Later rows: what is known of a batch of rows that were not in the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.diffusion.lookup import Lookup
from manifuse.diffusion.observations import Observations
from manifuse.kernels.arrays import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class LaterRows:
    """A batch of rows that were not in the fit, already checked.

    Attributes
    ----------
    scores : (q,) array
    features : (q, d) array or None
        In the order of the fitted table.
    looked_up : mapping of int to two (q,) arrays
        Scores of the rows in every coupled reference, by its number, and how well each is known: 1 where the reference
        has the row. Where it lacks the row both are 0, until `with_predicted`.
    """

    scores: FloatArray
    features: FloatArray | None
    looked_up: Mapping[int, tuple[FloatArray, FloatArray]]

    @classmethod
    def of(cls, table: Observations, lookups: Mapping[int, Lookup]) -> Self:
        """Return the rows of a table, looked up in coupled references."""
        found = {number: lookup.at(table.keys) for number, lookup in lookups.items()}
        return cls(table.scores, table.table, found)

    def __len__(self) -> int:
        return len(self.scores)

    def are_lacked_by(self, numbers: Sequence[int]) -> bool:
        """Whether one of these coupled references lacks some of the rows."""
        return not all(self.looked_up[number][1].all() for number in numbers)

    def with_predicted(self, numbers: Sequence[int], predicted: FloatArray, known_by: float) -> LaterRows:
        """Return the same rows; what these c references lack is ``predicted`` (q, c), and known so well."""
        filled = dict(self.looked_up)
        for number, column in zip(numbers, predicted.T, strict=True):
            values, known = self.looked_up[number]
            filled[number] = np.where(known > 0, values, column), np.where(known > 0, known, known_by)
        return replace(self, looked_up=filled)

    def block(self, rows: IndexArray, size: int) -> LaterRows:
        """Return a block of ``size`` rows: the ``rows`` and, if they are fewer, the last of them repeated.

        Matrix products are rounded by the size of what is multiplied. In blocks of one size the result of a row does
        not depend on the rows beside it.
        """
        rows = np.concatenate([rows, np.full(size - len(rows), rows[-1])])
        features = None if self.features is None else np.asarray(self.features[rows], dtype=np.float64)
        found = {number: (values[rows], known[rows]) for number, (values, known) in self.looked_up.items()}
        return LaterRows(self.scores[rows], features, found)
