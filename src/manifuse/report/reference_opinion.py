"""Reference opinion: what a reference says of the main rows that it knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import ABSENT
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.report.score_wording import ScoreWording, told_of
from manifuse.run.refinement import Refinement
from manifuse.tables.observations import Observations
from manifuse.tables.straightening import straightened

#: Alignments are the same up to this much, because scores may come back in single precision.
SAME_ALIGNMENT = 1e-4


@dataclass(frozen=True, eq=False)
class ReferenceOpinion:
    """What a reference that took part says of main rows.

    Attributes
    ----------
    table : Observations
        The reference as it came.
    told : ScoreWording
        What it says of its rows.
    rows : (n,) array of int
        Its row of every main row that it knows.
    known : (n,) array of bool
        Whether it knows a main row itself.
    """

    table: Observations
    told: ScoreWording
    rows: IndexArray
    known: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        result: Refinement,
        table: Observations,
        keys: NDArray[np.str_] | None = None,
        *,
        with_values: bool = False,
    ) -> Self:
        """Find the main rows that a reference knows, by other ``keys`` (n,) if it knows them by these.

        Scores are told as places, or also ``with_values``.
        """
        known = locate(result.main.keys if keys is None else keys, table.keys)
        return cls(table, told_of(table, with_values=with_values), *known)

    def cell(self, row: int) -> str:
        """What it says of a main row, for a table."""
        return self.told.at(int(self.rows[row])) if self.known[row] else ABSENT


def demand_own(result: Refinement, references: Sequence[Observations]) -> None:
    """Refuse references that a result was not refined by, or that came in another order without names."""
    known = [entry.name for entry in result.relevance]
    for each in references:
        if each.name not in known:
            raise InputError(
                f"{each.name} is no reference of this result, which has {shorten(', '.join(known))}; give those that "
                "it was refined by."
            )
        if _has_other_scores(result, each):
            raise InputError(
                f"At the common rows, {each.name} has other scores than when it was fitted; give the references that "
                "the result was refined by, in their order if they have no names."
            )


def _has_other_scores(result: Refinement, table: Observations) -> bool:
    """Whether a reference does not align with the main predictor as it did; of classes, it is not asked."""
    main, entry = result.fitted_model.main, result.relevance[table.name]
    rows, known = locate(main.keys, table.keys)
    # If only some pairs were fitted, or there are more by now, their alignment is another one.
    if main.classes is not None or table.classes is not None or np.count_nonzero(known) != entry.pairs:
        return False
    if entry.is_straightened:
        table = straightened(table, rows[known] if entry.is_coupled or table.table is None else None)
    alignment = inner(on_sphere(main.scores[known]), on_sphere(table.scores[rows[known]]))
    return bool(abs(alignment - entry.held_out_alignment) > SAME_ALIGNMENT)
