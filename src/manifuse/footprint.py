"""Footprint: the memory that a run will take, before it takes any."""

from __future__ import annotations

from manifuse.diffusion.bridges import HELD_OUT_NUMBERS

LARGE_ROWS = 100_000
from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.presmoothing import NEIGHBOURS
from manifuse.diffusion.problem import Problem
from manifuse.errors import InputError
from manifuse.evidence.tuning import LARGE
from manifuse.machine import available_memory

#: Edges of a row for every neighbour asked for: where neither end always names the other, they are more than N.
EDGES = 1.6

#: Rounds that few runs exceed.
ROUNDS = 12


def predicted_bytes(problem: Problem, method: JointDiffusion, backend: Backend, *, labelled: bool) -> int:
    """Predict the most memory that `refine` will hold at once, beside the tables that came, in bytes.

    The sum of what is alive together: neighbour tables, a main graph and the reference sides for every candidate, and
    the largest of the search of a table, the building of its graph, the held-out pairs, and the rounds.
    """
    presmoothed = labelled and method.presmoothed and problem.main.has_graph
    rows, references = len(problem.main), len(problem.references)
    rounds = 0 if rows >= LARGE_ROWS else min(method.rounds, ROUNDS)
    if problem.is_coupled and not presmoothed:
        return _of_rounds(rows, references, rounds)
    count = max([*choices(method.neighbours), *(NEIGHBOURS if presmoothed else ())])
    searched = problem.with_graphs()
    scalings = 1 if any(len(table) >= LARGE for table in searched) else len(choices(method.standardised))
    tables = sum(16 * len(table) * count for table in searched if table.neighbours is None)
    graphs = _of_edges(backend, rows, sum(choices(method.neighbours)))
    search = max(0 if table.table is None else backend.search_bytes(table.table) for table in searched)
    # Edges as either end names them, then joined.
    building = max(backend.edge_bytes(len(table)) * (2 + EDGES) * len(table) * count for table in searched)
    sides, asked = _of_bridges(problem, method, backend)
    running = _of_rounds(rows, references, rounds) + _of_edges(backend, rows, count) + asked
    held_out = 32 * min(HELD_OUT_NUMBERS, 2 * method.folds * references * rows) + asked
    return int(scalings * (tables + graphs + sides) + max(search, building, held_out, running))


def bytes_to_replay(problem: Problem, method: JointDiffusion, rounds: int) -> int:
    """Predict the memory that it takes to make anew what so many rounds did, beside the graph and the bridges."""
    rows, references, backend = len(problem.main), len(problem.references), Host()
    affinity = 0.0 if problem.is_coupled else _of_edges(backend, rows, max(choices(method.neighbours)))
    asked = _of_bridges(problem, method, backend)[1]
    return int(_of_rounds(rows, references, rounds + 1) + affinity + asked)


def _of_rounds(rows: int, references: int, kept: int) -> int:
    """Bytes of the columns of a round, and of what is kept of so many of them."""
    return int(8 * rows * (7 * references + 14 + kept * (2.2 * references + 4)))


def _of_edges(backend: Backend, rows: int, count: int) -> float:
    """Bytes of the edges of a graph of ``count`` neighbours."""
    return backend.edge_bytes(rows) * EDGES * rows * count


def _of_bridges(problem: Problem, method: JointDiffusion, backend: Backend) -> tuple[float, float]:
    """Bytes of all reference sides, and of the pairs' part while bridges are asked."""
    settings = len(choices(method.neighbours)) * len(choices(method.score_scale))
    count = max(choices(method.neighbours))
    sides = asked = 0.0
    for kind in {type(scheme) for scheme in choices(method.bridge)}:
        depth = max(scheme.depth for scheme in choices(method.bridge) if isinstance(scheme, kind))
        for reference in problem.references:
            if reference.is_coupled:
                continue
            if depth:
                # The moments of scores and ones at the pairs; for every fold a copy less its pairs, and sources.
                held = 16.0 * depth * len(reference.main_rows)
                asked += 3 * method.folds * held
            else:
                # The reference's whole affinity, and a bridge before all but the largest of its entries are dropped.
                held = _of_edges(backend, len(reference.table), count)
                keep = max(scheme.parameters().get("keep", 1) for scheme in choices(method.bridge))
                asked += 12 * EDGES * len(problem.main) * count * keep
            sides += settings * held
    return sides, asked


def demand_memory(problem: Problem, method: JointDiffusion, backend: Backend, *, labelled: bool) -> None:
    """Refuse a run that would not fit.

    Raises
    ------
    InputError
        If there is less memory free than is needed.
    """
    needed = predicted_bytes(problem, method, backend, labelled=labelled)
    _demand("This run", needed, backend.free_memory(), "take fewer neighbours, fewer rows, or a machine with more")


def demand_memory_to_replay(problem: Problem, method: JointDiffusion, rounds: int | None = None) -> None:
    """Refuse to make rounds anew that would not fit; see `demand_memory`.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    rounds : int, optional
        As many as few runs exceed if not given.
    """
    if len(problem.main) >= LARGE_ROWS:
        needed = bytes_to_replay(problem, method, min(method.rounds, ROUNDS) if rounds is None else rounds)
        what = "What rounds did, made anew for a saved refinement, a report or rows that come later,"
        _demand(what, needed, available_memory(), "take a machine with more, or do without")


def _demand(what: str, needed: int, free: int | None, remedy: str) -> None:
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs about {needed / 2**30:.3g} GiB of memory, but {free / 2**30:.3g} GiB are free; {remedy}."
        )
