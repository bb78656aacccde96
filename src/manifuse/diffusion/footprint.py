"""Footprint: the memory that a run will take, before it takes any."""

from __future__ import annotations

from manifuse.diffusion.bridges import HELD_OUT_NUMBERS
from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.place import Place
from manifuse.diffusion.presmoothing import NEIGHBOURS
from manifuse.diffusion.problem import Problem
from manifuse.errors import InputError

#: Edges of a row for every neighbour asked for: where neither end always names the other, they are more than N.
EDGES = 1.6

#: Rounds that few runs exceed; what each did is kept for rows that come later.
ROUNDS = 12


def predicted_bytes(problem: Problem, method: JointDiffusion, *, labelled: bool) -> int:
    """Predict the most memory that `refine` will hold at once, beside the tables that came, in bytes.

    The sum of what is alive together: neighbour tables, the main graph, and the largest of the search of a table,
    the building of its graph, the held-out pairs, and the rounds.
    """
    count = max(choices(method.neighbours))
    if labelled and method.presmoothed:
        count = max(count, *NEIGHBOURS)
    searched = [problem.main, *(reference.source for reference in problem.references if reference.source is not None)]
    references, rows = len(problem.references), len(problem.main)
    vectors = 6 * references + 20 + min(method.rounds, ROUNDS) * (3 * references + 4)
    if len(searched) == 1 and not (labelled and method.presmoothed and problem.main.has_graph):
        return 8 * rows * vectors
    tables = sum(16 * len(table) * count for table in searched if table.neighbours is None)
    graph = 12 * EDGES * rows * count
    search = max(0 if table.table is None else 12 * table.table.size for table in searched)
    building = max((32 + 16 * EDGES) * len(table) * count for table in searched)
    held_out = 32 * min(HELD_OUT_NUMBERS, 2 * method.folds * references * rows)
    running = 8 * rows * (vectors + EDGES * count)
    return int(tables + graph + max(search, building, held_out, running))


def demand_memory(problem: Problem, method: JointDiffusion, place: Place, *, labelled: bool) -> None:
    """Refuse a run that would not fit.

    Raises
    ------
    InputError
        If there is less memory free than is needed.
    """
    needed, free = predicted_bytes(problem, method, labelled=labelled), place.free_memory()
    if free is not None and needed > free:
        raise InputError(
            f"This run needs about {needed / 2**30:.3g} GiB of memory, but {free / 2**30:.3g} GiB are free; take "
            "fewer neighbours, fewer rows, or a machine with more."
        )
