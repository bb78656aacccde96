"""Footprint: the memory that a run will need, known before it starts."""

from __future__ import annotations

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.diffusion.algorithm1 import choices
from manifuse.diffusion.bridges import HELD_OUT_NUMBERS, Bridges
from manifuse.diffusion.setup import Setup
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.machine import available_memory

#: Matrices that a lesson needs at the same time, and bytes of a block of rows while it predicts.
LESSON_MATRICES, LESSON_BLOCK = 16, 45_000_000

#: Edges of a row for each neighbour asked for; there are more than N because only one end need name the other.
EDGES = 1.6


def predicted_bytes(setup: Setup, *, taught: int = 0) -> int:
    """Predict the most memory that a run will have allocated at once, beside the tables that came, in bytes.

    The sum of what exists at the same time: neighbour tables, a main graph and the reference sides for every
    candidate, and the largest of the search of a table, the building of its graph, the held-out pairs, and a round.

    Parameters
    ----------
    setup : Setup
    taught : int
        Pairs or labels that a lesson is learned from, at the most; 0 without lessons.
    """
    problem, algorithm, backend = setup.problem, setup.algorithm, setup.backend
    rows, references, entries = len(problem.main), len(problem.references), problem.start.size
    if not (problem.bridged or setup.own_graph):
        return _of_round(entries, references) + _of_lesson(taught)
    searched = problem.tables_with_graphs()
    count = max(choices(algorithm.neighbours))
    scalings = 1 if problem.is_large or not problem.bridged else len(choices(algorithm.standardised))
    tables = sum(16 * len(table) * count for table in searched if table.neighbours is None)
    graphs = _of_edges(backend, rows, sum(choices(algorithm.neighbours)))
    search = max(0 if table.table is None else backend.search_bytes(table.table) for table in searched)
    # Edges as each end names them, then joined.
    building = max(backend.edge_bytes(len(table)) * (2 + EDGES) * len(table) * count for table in searched)
    sides, used = _of_bridges(setup)
    running = _of_round(entries, references) + _of_edges(backend, rows, count) + used
    held_out = 32 * min(HELD_OUT_NUMBERS, algorithm.folds * references * (entries + rows)) + used
    return int(scalings * (tables + graphs + sides) + max(search, building, held_out, running + _of_lesson(taught)))


def demand_memory(setup: Setup, *, taught: int = 0) -> None:
    """Refuse a run that would not fit into memory.

    Raises
    ------
    InputError
        If less memory is free than is needed.
    """
    needed = predicted_bytes(setup, taught=taught)
    _demand("This run", needed, setup.backend.free_memory(), "take fewer neighbours or fewer rows, or ")


def bytes_to_replay(bridges: Bridges, start: FloatArray, rounds: int) -> int:
    """Predict the memory that repeating so many rounds from a prediction needs, beside the graph and the bridges."""
    references, scheme, rows = bridges.count, bridges.setting.bridge, len(start)
    kept = 8 * start.size * rounds * (2.2 * references + 4)
    edges, sides = EDGES * rows * bridges.graph.neighbours, _sides(start)
    used = sum(scheme.carry_bytes(sides * len(anchor.main_rows), edges) for anchor in bridges.anchors.values())
    return int(_of_round(start.size, references) + kept + _of_edges(Host(), rows, bridges.graph.neighbours) + used)


def demand_memory_to_replay(bridges: Bridges, start: FloatArray, rounds: int) -> None:
    """Refuse to repeat rounds that would not fit into memory; see `demand_memory`."""
    needed = bytes_to_replay(bridges, start, rounds)
    _demand("Refining rows that came later", needed, available_memory(), "")


def _of_lesson(taught: int) -> int:
    """Bytes of the covariances of observations, part by part, twice, and of a block of rows."""
    return 0 if taught == 0 else 8 * LESSON_MATRICES * taught**2 + LESSON_BLOCK


def _of_round(entries: int, references: int) -> int:
    """Bytes of the columns of a round, of predictions with so many numbers."""
    return 8 * entries * (7 * references + 14)


def _sides(start: FloatArray) -> float:
    """Right-hand sides of a reference, its columns and ones, in units of the two that one score a row has."""
    return (start.size / len(start) + 1.0) / 2.0


def _of_edges(backend: Backend, rows: int, count: int) -> float:
    """Bytes of the edges of a graph of ``count`` neighbours."""
    return backend.edge_bytes(rows) * EDGES * rows * count


def _of_bridges(setup: Setup) -> tuple[float, float]:
    """Bytes of all reference sides, and of what bridges need while held-out pairs are predicted."""
    algorithm = setup.algorithm
    settings, count = (
        len(choices(algorithm.neighbours)) * len(choices(algorithm.score_scale)),
        max(choices(algorithm.neighbours)),
    )
    # Schemes of one kind share their reference sides.
    schemes = sorted(choices(algorithm.bridge), key=lambda scheme: scheme.carry_bytes(1, 1))
    edges = EDGES * len(setup.problem.main) * count
    sides, used, width = 0.0, 0.0, _sides(setup.problem.start)
    for scheme in {type(scheme): scheme for scheme in schemes}.values():
        for reference in setup.problem.bridged.values():
            pairs = width * len(reference.main_rows)
            sides += settings * scheme.anchor_bytes(pairs, _of_edges(setup.backend, len(reference.table), count))
            used += algorithm.folds * scheme.carry_bytes(pairs, edges)
    return sides, used


def _demand(what: str, needed: int, free: int | None, remedy: str) -> None:
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs about {needed / 2**30:.3g} GiB of memory, but {free / 2**30:.3g} GiB are free; "
            f"{remedy}use a machine with more memory."
        )
