"""Outcome: what a run found out, put together for the result: references, alignments and steps."""

from __future__ import annotations

import numpy as np

from manifuse.columns.imputed import known_at_pairs
from manifuse.diffusion.joint import Step
from manifuse.evidence.gain import Accuracy
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.relevance import Relevance, RelevanceTable, align_pairs, final_weights
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import unit
from manifuse.run.conclusion import Conclusion
from manifuse.run.preparation import Prepared


def relevance_of(prepared: Prepared, conclusion: Conclusion) -> RelevanceTable:
    """Put together what a run found out about every reference."""
    problem, found = prepared.problem, conclusion.found
    numbers = list(prepared.taking_part) if found is not None else []
    entries = []
    for number, (reference, seen) in enumerate(zip(problem.references, prepared.pair_evidence, strict=True)):
        alignment, chance = align_pairs(problem.main.scores, reference, prepared.setup.seed)
        fidelity, weight, reached, differs = seen.fidelity, 0.0, 0.0, False
        refined = conclusion.refiner.fitted.scores
        aligned = align_pairs(refined, reference, prepared.setup.seed)[0]
        if found is None and conclusion.path is not None:
            last = conclusion.path.history[-1]
            weight, aligned = float(final_weights(conclusion.path)[number]), last.alignments[number]
            reached = float(conclusion.path.references.reached[:, number].mean())
        elif found is not None and number in numbers:
            column = numbers.index(number)
            weight, differs = float(found.agreement.pulls[column]), bool(found.agreement.differing[column])
            reached = float(1.0 - found.doubt[:, column].mean())
            if not reference.is_coupled:
                rows = reference.main_rows
                imputed = found.known.held_out["references"][rows, column]
                fidelity = correlation(imputed, found.known.fitted["references"][rows, column])
        entries.append(
            Relevance(
                name=reference.name,
                alignment=aligned,
                held_out_alignment=alignment,
                chance_alignment=chance,
                fidelity=fidelity,
                weight=weight,
                reached=reached,
                pairs=len(reference.main_rows),
                differs=differs,
                worth=conclusion.worths.get(number),
            )
        )
    return RelevanceTable(entries)


def accuracy_of(prepared: Prepared, conclusion: Conclusion) -> Accuracy | None:
    """The measure on the labelled rows, before and after; None without labels."""
    score, gain, main = prepared.score, conclusion.gain, prepared.problem.main
    if score is None or gain is None:
        return None
    before = score.measured(main.scores[score.rows])
    if score.measure == "rmse":
        return Accuracy("rmse", before, before - gain.value if conclusion.verdict.accepted else before)
    # The gain is measured within folds, and what comes before is not.
    return Accuracy("accuracy", before, min(before + gain.value, 1.0) if conclusion.verdict.accepted else before)


def metric_of(prepared: Prepared, conclusion: Conclusion) -> FloatArray:
    """Alignments of own scores, refined scores and references with each other, at the rows that both know."""
    if conclusion.found is None and conclusion.path is not None:
        return conclusion.path.metric
    problem = prepared.problem
    pairs = known_at_pairs(problem.references, len(problem.main))
    flat = pairs.reshape(len(problem.main), len(problem.references))
    columns = np.column_stack([problem.main.scores, conclusion.refiner.fitted.scores, flat])
    metric = np.eye(columns.shape[1])
    for one in range(len(metric)):
        for other in range(one):
            both = np.isfinite(columns[:, one]) & np.isfinite(columns[:, other])
            if both.any():
                metric[one, other] = metric[other, one] = float(unit(columns[both, one]) @ unit(columns[both, other]))
    return metric


def history_of(prepared: Prepared, conclusion: Conclusion) -> tuple[Step, ...]:
    """The steps of the diffusion; one that stands for none, if nothing was diffused."""
    if conclusion.path is not None:
        return conclusion.path.history
    method, count = prepared.setup.method, len(prepared.problem.references)
    (step, *_), (scale, *_) = method.grid(labelled=False)
    alignments = tuple(seen.alignment for seen in prepared.pair_evidence)
    return (Step(0, 0, np.nan, alignments, (0.0,) * count, step, scale),)
