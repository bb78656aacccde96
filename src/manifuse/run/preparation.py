"""Preparation: everything that a run does before its columns. The result is `RunInputs`."""

from manifuse.backends.backend import Backend
from manifuse.columns.all_columns import RunInputs
from manifuse.columns.held_labels import most_taught
from manifuse.columns.imputed import MOST_PAIRS
from manifuse.diffusion.footprint import LessonSize, demand_memory
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.tuning import choose_bridges
from manifuse.evidence.score import Score
from manifuse.kernels.feature_blocks import means_and_deviations
from manifuse.run.method import JointDiffusion
from manifuse.tables.problem import Problem

#: Rows squared times features up to which labels are worth a neighbour search that no bridge needs.
MOST_WORK = 5e10


def prepare(
    problem: Problem,
    method: JointDiffusion,
    score: Score | None,
    seed: int,
    backend: Backend,
    groups: dict[int, str] | None = None,
    whole: Problem | None = None,
) -> RunInputs:
    """Search neighbours, choose and build bridges, and measure what the pairs say of each reference.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    score : Score or None
        What the labels measure; None without labels.
    seed : int
    backend : Backend
        Searches neighbours and keeps graphs.
    groups : mapping of int to str, optional
        Of the labelled rows.
    whole : Problem, optional
        What the problem is a sample of, if it is one.

    Raises
    ------
    InputError
        If the run would not fit into memory, or features cannot be used.
    MissingExtraError
        If the neighbour search needs a library that is not installed.
    """
    setup = Setup(problem, method.diffusion, seed, backend, needs_own_graph(problem, score))
    # Other rows of a table in a file are refined window by window.
    refined = None if whole is None or whole.main.is_unread else whole
    demand_memory(setup, lessons=_lessons(problem, score), whole=refined)
    return RunInputs(
        problem=problem,
        tuned=choose_bridges(setup),
        taking_part={
            number: reference
            for number, reference in enumerate(problem.references)
            if not reference.is_idle and reference.name not in method.ignored
        },
        score=score,
        groups=groups,
        same_target=method.same_target,
        seed=seed,
        is_sample=whole is not None,
    )


def needs_own_graph(problem: Problem, score: Score | None) -> bool:
    """Whether labels are worth a neighbour search that no bridge needs: features vary, and the search is quick."""
    main = problem.main
    if score is None or problem.bridged or main.table is None:
        return False
    rows, columns = main.table.shape
    return float(rows) ** 2 * columns <= MOST_WORK and bool(means_and_deviations(main.table)[1].any())


def _lessons(problem: Problem, score: Score | None) -> list[LessonSize]:
    """Rows of every lesson, and its observations: of pairs, and of labels."""
    pairs = [min(len(reference.main_rows), MOST_PAIRS) for reference in problem.bridged.values()]
    lessons = [(count, count) for count in pairs]
    if score is not None:
        observed = min(len(score.observations()), most_taught(score))
        lessons.append((min(len(score.rows), 2 * observed), observed))
    return lessons
