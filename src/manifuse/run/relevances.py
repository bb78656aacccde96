"""Relevances: what a run found out about every reference."""

from collections.abc import Collection, Mapping

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.columns.refined_scores import RefinedScores
from manifuse.columns.scored import HeldOutScores
from manifuse.columns.view import View
from manifuse.columns.worth import worths_by_labels
from manifuse.evidence.gain import Gain
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.relevance import Relevance, RelevanceTable, Standing
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.tables.problem import Problem, Reference

#: References that share no row are named if they would share so many by chance.
SHARED_BY_CHANCE = 2


def worths_of(
    given: RunInputs, found: RunOutputs, held_out: HeldOutScores | None
) -> tuple[Mapping[int, Gain], Gain | None]:
    """What references are worth: by labels, or by what the references say of each other."""
    if held_out is not None:
        return worths_by_labels(given, found, held_out)
    each = zip(given.taking_part, found.agreement.worths, strict=True)
    return {number: worth for number, worth in each if worth is not None}, found.agreement.gain


def relevance_of(
    given: RunInputs, ignored: Collection[str], found: RunOutputs, refined: RefinedScores, worths: Mapping[int, Gain]
) -> RelevanceTable:
    """Put together what a run found out about every reference, some of which are ``ignored``."""
    references, numbers, entries = given.problem.references, list(given.taking_part), []
    for number, (reference, (aligned, chance)) in enumerate(zip(references, given.tuned.aligned, strict=True)):
        rows, weight, reached, fidelity = reference.main_rows, 0.0, 0.0, 1.0 if reference.is_coupled else None
        standing = Standing.LEFT_OUT if reference.name in ignored else Standing.IDLE
        if number in numbers:
            column = numbers.index(number)
            weight, standing = float(found.agreement.pulls[column]), _standing(found, column)
            reached = _reached(reference, found.views.fitted, column)
            if not reference.is_coupled:
                imputed = found.views.held_out["unseen"][rows, column]
                fidelity = correlation(imputed, found.views.fitted["references"][rows, column])
        entries.append(
            Relevance(
                name=reference.name,
                alignment=inner(on_sphere(refined.scores[rows]), on_sphere(reference.paired)),
                held_out_alignment=aligned,
                chance_alignment=chance,
                fidelity=fidelity,
                weight=weight,
                reached=reached,
                pairs=len(reference.main_rows),
                is_coupled=reference.is_coupled,
                is_straightened=reference.table.straightening is not None,
                standing=standing,
                worth=worths.get(number),
            )
        )
    return RelevanceTable(entries)


def _reached(reference: Reference, rows: View, column: int) -> float:
    """How much is known of a reference at all main rows, of which some may be fitted; see `Relevance`."""
    unknown = rows.known[:, column] == 0
    doubt = float(rows["doubt"][unknown, column].mean()) if unknown.any() else 0.0
    return 1.0 - (1.0 - reference.known_share) * doubt


def _standing(found: RunOutputs, column: int) -> Standing:
    """What became of a reference that was asked."""
    if found.agreement.pulls[column] > 0:
        return Standing.TOOK_PART
    if found.taught is not None:
        return Standing.TAUGHT
    return Standing.DIFFERS if found.agreement.differing[column] else Standing.NOT_FOLLOWED


def metric_of(problem: Problem, refined: RefinedScores) -> FloatArray:
    """Alignments of own scores, refined scores and references with each other, at the rows that both know."""
    ours = np.stack([each.reshape(len(each), -1) for each in (problem.main.scores, refined.scores)], axis=1)
    pairs = np.full((len(ours), len(problem.references), ours.shape[2]), np.nan)
    for column, reference in enumerate(problem.references):
        pairs[reference.main_rows, column] = reference.paired.reshape(-1, ours.shape[2])
    columns = np.concatenate([ours, pairs], axis=1)
    metric, known = np.eye(columns.shape[1]), np.isfinite(columns).all(axis=2)
    for one in range(len(metric)):
        for other in range(one):
            both = known[:, one] & known[:, other]
            if both.any():
                sides = (on_sphere(columns[both, column]) for column in (one, other))
                metric[one, other] = metric[other, one] = inner(*sides)
    return metric


def disjoint_of(given: RunInputs, found: RunOutputs) -> tuple[str, ...]:
    """Names of references that share no row with another one, though by chance they would."""
    known = found.views.fitted.known
    count = known.sum(axis=0)
    apart = (known.T @ known == 0) & (np.outer(count, count) >= SHARED_BY_CHANCE * len(known))
    return tuple(each.name for each, is_so in zip(given.taking_part.values(), apart.any(axis=1), strict=True) if is_so)
