"""Footprint: the memory that a run will take, before it takes any."""

from __future__ import annotations

from collections.abc import Sequence

from manifuse.diffusion.bridges import HELD_OUT_NUMBERS
from manifuse.diffusion.graph import LARGE_ROWS
from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.place import Place
from manifuse.diffusion.presmoothing import NEIGHBOURS
from manifuse.diffusion.problem import Problem, Reference
from manifuse.diffusion.tuning import LARGE
from manifuse.errors import InputError
from manifuse.machine import available_memory

#: Edges of a row for every neighbour asked for: where neither end always names the other, they are more than N.
EDGES = 1.6

#: Rounds that few runs exceed; what each did is kept for rows that come later.
ROUNDS = 12


def predicted_bytes(problem: Problem, method: JointDiffusion, place: Place, *, labelled: bool) -> int:
    """Predict the most memory that `refine` will hold at once, beside the tables that came, in bytes.

    The sum of what is alive together: neighbour tables, a main graph and the reference sides for every candidate, and
    the largest of the search of a table, the building of its graph, the held-out pairs, and the rounds.
    """
    presmoothed = labelled and method.presmoothed and problem.main.has_graph
    count = max([*choices(method.neighbours), *(NEIGHBOURS if presmoothed else ())])
    decoupled = [reference for reference in problem.references if not reference.is_coupled]
    references, rows = len(problem.references), len(problem.main)
    kept = 0 if rows >= LARGE_ROWS else min(method.rounds, ROUNDS)
    vectors = 7 * references + 14 + kept * _of_a_round(references)
    if not decoupled and not presmoothed:
        return int(8 * rows * vectors)
    searched = problem.with_graphs()
    scalings = 1 if any(len(table) >= LARGE for table in searched) else len(choices(method.standardised))
    tables = sum(16 * len(table) * count for table in searched if table.neighbours is None)
    graphs = (4 + _precision(rows)) * EDGES * rows * sum(choices(method.neighbours))
    search = max(0 if table.table is None else place.search_bytes(table.table) for table in searched)
    # Edges as either end names them, then joined.
    building = max((4 + _precision(len(table))) * (2 + EDGES) * len(table) * count for table in searched)
    sides, asked = _of_bridges(decoupled, method)
    running = 8 * rows * vectors + _precision(rows) * EDGES * rows * count
    held_out = 32 * min(HELD_OUT_NUMBERS, 2 * method.folds * references * rows) + asked
    return int(scalings * (tables + graphs + sides) + max(search, building, held_out, running + asked))


def _precision(rows: int) -> int:
    """Bytes of an edge's weight."""
    return 4 if rows >= LARGE_ROWS else 8


def _of_a_round(references: int) -> float:
    """Vectors that are kept of a round."""
    return 2.2 * references + 4


def _of_bridges(references: Sequence[Reference], method: JointDiffusion) -> tuple[float, float]:
    """Bytes of all reference sides, and of the pairs' part while bridges are asked."""
    settings = len(choices(method.neighbours)) * len(choices(method.score_scale))
    sides = asked = 0.0
    for kind in {type(scheme) for scheme in choices(method.bridge)}:
        depth = max(scheme.depth for scheme in choices(method.bridge) if isinstance(scheme, kind))
        for reference in references:
            pairs, rows = len(reference.main_rows), len(reference.table)
            if depth:
                # The moments of scores and ones at the pairs; for every fold a copy less its pairs, and sources.
                held = 16.0 * depth * pairs
                asked += 3 * method.folds * held
            else:
                # The reference's whole affinity, and a bridge before all but the largest of its entries are dropped.
                held = (4 + _precision(rows)) * EDGES * rows * max(choices(method.neighbours))
                asked += held * max(scheme.parameters()["keep"] for scheme in choices(method.bridge))
            sides += settings * held
    return sides, asked


def demand_memory(problem: Problem, method: JointDiffusion, place: Place, *, labelled: bool) -> None:
    """Refuse a run that would not fit.

    Raises
    ------
    InputError
        If there is less memory free than is needed.
    """
    needed = predicted_bytes(problem, method, place, labelled=labelled)
    _demand("This run", needed, place.free_memory(), "take fewer neighbours, fewer rows, or a machine with more")


def demand_memory_to_replay(problem: Problem, rounds: int) -> None:
    """Refuse to repeat rounds that would not fit; see `demand_memory`."""
    references, rows = len(problem.references), len(problem.main)
    needed = int(8 * rows * (7 * references + 14 + (1 + rounds) * _of_a_round(references)))
    what = f"To apply or save what {rounds} round{'' if rounds == 1 else 's'} did to {rows:,} rows"
    _demand(what, needed, available_memory(), "set fewer rounds, or take a machine with more")


def _demand(what: str, needed: int, free: int | None, remedy: str) -> None:
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs about {needed / 2**30:.3g} GiB of memory, but {free / 2**30:.3g} GiB are free; {remedy}."
        )
