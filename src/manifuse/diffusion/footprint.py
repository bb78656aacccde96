"""Footprint: the memory that a run will need, known before it starts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.diffusion.algorithm1 import Algorithm1, choices
from manifuse.diffusion.bridges import HELD_OUT_NUMBERS, Bridges
from manifuse.diffusion.setup import Setup
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.machine import available_memory
from manifuse.tables.problem import Problem

#: Of a lesson: the matrices of its rows that exist at the same time, and those of its observations if each is a
#: difference of rows; copies of the rows' features and their waves; bytes of a block of rows while it predicts.
LESSON_MATRICES, LESSON_CONTRASTS, LESSON_FEATURES, LESSON_BLOCK = 12, 8, 6, 45_000_000

#: Rows that a lesson is learned from, and what was observed of them.
LessonSize = tuple[int, int]

#: Edges of a row for each neighbour asked for; there are more than N because only one end need name the other.
EDGES = 1.6


def predicted_bytes(setup: Setup, *, lessons: Sequence[LessonSize] = (), whole: Problem | None = None) -> int:
    """Predict the most memory that a run will have allocated at once, beside the tables that came, in bytes.

    The sum of what exists at the same time: neighbour tables, a main graph and the reference sides for every
    candidate, and the largest of the search of a table, the building of its graph, the held-out pairs, and a round.

    Parameters
    ----------
    setup : Setup
    lessons : sequence of pairs of int
        The rows of each lesson, and its observations.
    whole : Problem, optional
        What the problem is a sample of, if it is one; all its rows are refined at the end.
    """
    fitted = _of_fit(setup, _of_lessons(setup, lessons))
    # Half of what a fit takes counts as kept: a graph, reference sides, lessons.
    return fitted if whole is None else max(fitted + _of_pairing(whole), _of_whole(whole) + fitted // 2)


def _of_fit(setup: Setup, lessons: float) -> int:
    """Bytes of fitting all rows of a problem, whose lessons take so many."""
    problem, algorithm, backend = setup.problem, setup.algorithm, setup.backend
    rows, references, entries = len(problem.main), len(problem.references), problem.start.size
    if not (problem.bridged or setup.own_graph):
        return int(_of_round(entries, references) + lessons)
    searched = problem.tables_with_graphs()
    count = max(choices(algorithm.neighbours))
    scalings = 1 if problem.is_large or not problem.bridged else len(choices(algorithm.standardised))
    tables = sum(16 * len(table) * count for table in searched)
    graphs = _of_edges(backend, rows, sum(choices(algorithm.neighbours)))
    # A table is copied, its rows in order, before it is searched.
    search = max(
        0 if (each := table.table) is None else each.nbytes + backend.search_bytes(each) for table in searched
    )
    # Edges as each end names them, then joined.
    building = max(backend.edge_bytes() * (2 + EDGES) * len(table) * count for table in searched)
    sides, used = _of_bridges(setup)
    running = _of_round(entries, references) + _of_edges(backend, rows, count) + used
    held_out = 32 * min(HELD_OUT_NUMBERS, algorithm.folds * references * (entries + rows)) + used
    return int(scalings * (tables + graphs + sides) + max(search, building, held_out, running + lessons))


def demand_memory(setup: Setup, *, lessons: Sequence[LessonSize] = (), whole: Problem | None = None) -> None:
    """Refuse a run that would not fit into memory; parameters as of `predicted_bytes`.

    Raises
    ------
    InputError
        If less memory is free than is needed.
    """
    needed = predicted_bytes(setup, lessons=lessons, whole=whole)
    _demand("This run", needed, setup.backend.free_memory(), partial(_remedy, setup, lessons, whole))


def _remedy(setup: Setup, lessons: Sequence[LessonSize], whole: Problem | None, free: int) -> str:
    """What to take less of, so that a run fits into ``free`` memory: the first that is enough by itself."""
    usual = replace(setup, algorithm=replace(setup.algorithm, folds=min(setup.algorithm.folds, Algorithm1.folds)))
    without = {
        "labels or pairs": predicted_bytes(setup, whole=whole),
        "folds": predicted_bytes(usual, lessons=lessons, whole=whole),
    }
    large = next((what for what, least in without.items() if least <= free), "neighbours or fewer rows")
    return f"take fewer {large}, or "


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
    _demand("Refining rows that came later", needed, available_memory(), lambda free: "")


def _of_lessons(setup: Setup, lessons: Sequence[LessonSize]) -> float:
    """Bytes of the largest lesson while it is learned, and of what all of them keep."""
    if not lessons:
        return 0.0
    table = setup.problem.main.table
    width = 0 if table is None else table.shape[1]
    kept = sum(8 * rows * (rows + LESSON_FEATURES * width) for rows, _ in lessons)
    learned = max(
        8 * (LESSON_MATRICES * rows**2 + (LESSON_CONTRASTS * observed**2 if observed != rows else 0))
        for rows, observed in lessons
    )
    return float(kept + learned + LESSON_BLOCK)


def _of_pairing(whole: Problem) -> int:
    """Bytes of the rows of all pairs of a problem, and of its scores on the manifold."""
    return 8 * whole.start.size + sum(16 * len(each.main_rows) for each in whole.references)


def _of_whole(whole: Problem) -> int:
    """Bytes of refining all rows of a problem of which a sample was fitted, beside the fit.

    For every row: the refined row, what each coupled reference knows of it, and looking its id up. For every row of a
    coupled reference, its place among the ids.
    """
    coupled = [each for each in whole.references if each.is_coupled]
    rows, entries, count = len(whole.main), whole.start.size, len(coupled)
    known = 8 * (entries * (count + 2) + rows * (count + 4))
    looking_up = rows * (33 + whole.main.keys.itemsize)
    places = sum(16 * len(each.table) for each in coupled)
    # Coupled references are looked up when all else is there.
    return _of_pairing(whole) + places + (known + looking_up if coupled else max(known, looking_up))


def _of_round(entries: int, references: int) -> int:
    """Bytes of the columns of a round, of predictions with so many numbers."""
    return 8 * entries * (7 * references + 14)


def _sides(start: FloatArray) -> float:
    """Right-hand sides of a reference, its columns and ones, in units of the two that one score a row has."""
    return (start.size / len(start) + 1.0) / 2.0


def _of_edges(backend: Backend, rows: int, count: int) -> float:
    """Bytes of the edges of a graph of ``count`` neighbours."""
    return backend.edge_bytes() * EDGES * rows * count


def _of_bridges(setup: Setup) -> tuple[float, float]:
    """Bytes of all reference sides, and of what bridges need while held-out pairs are predicted."""
    algorithm = setup.algorithm
    settings = len(choices(algorithm.neighbours)) * len(choices(algorithm.score_scale))
    count = max(choices(algorithm.neighbours))
    # Schemes of one kind share their reference sides.
    schemes = sorted(choices(algorithm.bridge), key=lambda scheme: scheme.carry_bytes(1, 1))
    edges = EDGES * len(setup.problem.main) * count
    sides, used, width = 0.0, 0.0, _sides(setup.problem.start)
    for scheme in {type(scheme): scheme for scheme in schemes}.values():
        for reference in setup.problem.bridged.values():
            pairs = width * len(reference.main_rows)
            sides += settings * scheme.anchor_bytes(pairs, _of_edges(setup.backend, len(reference.table), count))
            used += min(algorithm.folds, len(reference.main_rows)) * scheme.carry_bytes(pairs, edges)
    return sides, used


def _demand(what: str, needed: int, free: int | None, remedy: Callable[[int], str]) -> None:
    if free is not None and needed > free:
        raise InputError(
            f"{what} needs about {needed / 2**30:.3g} GiB of memory, but {free / 2**30:.3g} GiB are free; "
            f"{remedy(free)}use a machine with more memory."
        )
