"""How a result is told at the top of its page: which references took part, and how the rows moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifuse.evidence.relevance import Relevance
from manifuse.grid import many
from manifuse.report.class_shift import ClassShift
from manifuse.report.refinement_statistics import Shift, by_weight
from manifuse.run.refinement import Refinement
from manifuse.words.finding import NAMED, listed

#: A reference whose weight is below this share of the largest weight is only counted.
SLIGHT = 0.1


def lead(result: Refinement, shift: Shift | ClassShift) -> list[str]:
    """Say which references took part, and how the rows moved."""
    if not result.accepted:
        return [result.why]
    moved = [shift.sentence] if isinstance(shift, ClassShift) else [_moved(shift), *_banded(shift)]
    return [*_took_part(result), *moved]


def _took_part(result: Refinement) -> list[str]:
    """Name the references that took part, by their worth or else by their weight, and those that speak in reverse."""
    taken = [result.relevance[index] for index in by_weight(result) if result.relevance[index].standing.is_used]
    if not taken:
        return ["No reference took part: the scores were refined by your own features and labels alone."]
    if result.gain is not None and all(entry.worth is not None for entry in taken):
        how, named = "worth", _by_worth(taken)[:NAMED]
    else:
        heavy = [entry for entry in taken if entry.weight >= SLIGHT * taken[0].weight]
        how, named = "weight", [f"“{entry.name}” (weight {entry.weight:.2g})" for entry in heavy[:NAMED]]
    rest = f", and {len(taken) - len(named)} more with less" if len(taken) > len(named) else ""
    all_of_them = f"The references that took part, by {how}: {listed(named)}{rest}."
    return [f"Only {named[0]} took part." if len(taken) == 1 else all_of_them]


def _by_worth(taken: Sequence[Relevance]) -> list[str]:
    """Names of references with their worths, the largest first."""
    worths = {entry.name: entry.worth for entry in taken if entry.worth is not None}
    names = sorted(worths, key=lambda name: -worths[name].value)
    return [f"“{name}” ({worths[name].amount(signed=True)})" for name in names]


def _moved(shift: Shift) -> str:
    return (
        f"Half of the {many(len(shift.keys), 'row')} moved by at most {np.ceil(shift.median_rise):,.0f} ranks, and "
        f"{shift.top_kept:.0%} of those in the highest tenth stay there."
    )


def _banded(shift: Shift) -> list[str]:
    """Say why refined scores fall into bands, if they do."""
    bands = shift.bands
    if bands < 2:
        return []
    return [
        f"The refined scores fall into {bands} bands with gaps between them. Rows of a band are alike in their "
        "features, and the refinement gives alike rows alike scores. Trust the order of the bands more than the order "
        "within one."
    ]
