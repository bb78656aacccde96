"""Shown: what the page says of a refinement, in words and numbers that the browser only has to put in place."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from manifuse.evidence.gain import UNITS
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.relevance import Standing
from manifuse.grid import many
from manifuse.page.exploration import Exploration
from manifuse.report.class_shift import ClassShift
from manifuse.report.explanation import explain
from manifuse.report.pictures import shift_of
from manifuse.report.refinement_statistics import Shift, largest
from manifuse.run.refinement import Refinement
from manifuse.tables.observations import Observations
from manifuse.words.label_findings import measured_as
from manifuse.words.reasons import STANDINGS, plain
from manifuse.words.wording import COLUMNS, verdict_of

#: Rows of the lists of those at the top, and of those that moved most.
LISTED = 8

#: What the page says of a reference that takes no part because it was told so.
SWITCHED_OFF = "switched off"

#: A number at the top of the page: what it is, how it reads, and how it read before.
Tile = dict[str, str | None]


def show(exploration: Exploration, result: Refinement) -> dict[str, Any]:
    """Return what the page shows of a refinement, as JSON can hold it."""
    shift = shift_of(result)
    grid = result.relevance.grid
    return {
        "ignored": list(result.method.ignored),
        "same_target": result.method.same_target,
        "accepted": result.accepted,
        "tiles": list(_tiles(exploration.main, result)),
        "sentence": _sentence(result),
        "findings": [f"{'+' if each.speaks_for else '-'} {plain(each.sentence)}" for each in result.findings],
        "references": {"head": grid.head[1:], "body": [line[1:] for line in grid.body]},
        "parts": [
            SWITCHED_OFF if each.standing is Standing.LEFT_OUT else plain(STANDINGS[each.standing])
            for each in result.relevance
        ],
        "columns": " ".join([f"{result.relevance.said_of_worth()};", *COLUMNS]),
        "metric": _metric(result),
        **(_of_classes(shift) if isinstance(shift, ClassShift) else _of_ranks(shift)),
    }


def explain_row(exploration: Exploration, result: Refinement, row: int) -> list[str]:
    """Say where a main row was and is, and why."""
    return list(explain(result, exploration.main.keys[row], exploration.references).sentences)


def _of_ranks(shift: Shift) -> dict[str, Any]:
    """Ranks before and after, and the rows at the top and those that moved most."""
    before, after = (np.round(ranks).astype(int) for ranks in shift.ranks)
    return {
        "before": before.tolist(),
        "after": after.tolist(),
        "top": np.argsort(-shift.after, kind="stable")[:LISTED].tolist(),
        "moved": largest(np.abs(shift.rises), LISTED).tolist(),
    }


def _of_classes(shift: ClassShift) -> dict[str, Any]:
    """Which classes became which, and the rows that changed class."""
    grids = {"counts": shift.counts_grid(), "changed": shift.changes_grid(LISTED, [])}
    return {name: {"head": grid.head, "body": grid.body} for name, grid in grids.items()}


def _tiles(main: Observations, result: Refinement) -> Iterator[Tile]:
    """The numbers at the top of the page, each with what it is."""
    if result.gain is not None and result.gain.rows and result.accuracy is not None:
        rows = many(result.gain.rows, "labelled row")
        measure = result.accuracy.measure
        before, after = (measured_as(measure, each) for each in (result.accuracy.before, result.accuracy.after))
        what = f"{UNITS[measure].what} on {rows}, each judged without its own label"
        yield {"from": before, "number": after, "what": what}
        taken = result.evidence.verdict.takes_what_was_found
        what = "gain and its standard error" if taken else "gain of the refinement that was not taken"
        if not result.gain.is_of_few:
            yield {"from": None, "number": result.gain.text(signed=True), "what": f"{what}, {result.gain.unit.words}"}
    aligned = correlation(main.scores, result.scores) if result.accepted else 1.0
    yield {"from": None, "number": f"{aligned:.3f}", "what": "alignment with the scores as they came"}


def _sentence(result: Refinement) -> str:
    """The verdict and its reason."""
    ignored = result.method.ignored
    without = f"Without {', '.join(ignored)}: " if ignored else ""
    return plain(f"{without}{verdict_of(result.evidence)} {result.why}")


def _metric(result: Refinement) -> list[list[float]]:
    """Alignments of refined scores, own scores and references with each other; unchanged scores are own scores."""
    order = [1 if result.accepted else 0, 0, *range(2, len(result.evidence.metric))]
    return list(result.evidence.metric[np.ix_(order, order)].tolist())
