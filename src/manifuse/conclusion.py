"""Conclusion: what a run comes to, whether labels and references taught or labels only tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from manifuse.diffusion.fit import Fit
from manifuse.diffusion.joint import Path, diffuse
from manifuse.diffusion.support import support_of_rows, typical_row_sums
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.consultation import Consultation, Subject, consult, worths
from manifuse.evidence.gain import Gain
from manifuse.evidence.likeness import Rows
from manifuse.evidence.relevance import final_weights
from manifuse.evidence.verdict import Verdict, judge_learned, judge_tuned
from manifuse.kernels.arrays import FloatArray
from manifuse.preparation import Prepared
from manifuse.refiner import Refined, Refiner

#: What references are worth is measured by fitting again without each of them; in larger tables it is not.
MOST_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What a run comes to.

    Attributes
    ----------
    verdict : Verdict
    path : Path
        Of the diffusion.
    refiner : Refiner
        With the refined scores, taken or not.
    honest : (n,) array
        Refined scores for labels to measure: each labelled row without its own label, if labels taught.
    agreement : Agreement or None
        What the references answered; None if they were not asked.
    worths : mapping of int to Gain
        What the honest score loses without each reference.
    worth : Gain or None
        The same without all of them.
    """

    verdict: Verdict
    path: Path
    refiner: Refiner
    honest: FloatArray
    agreement: Agreement | None
    worths: Mapping[int, Gain]
    worth: Gain | None

    @property
    def differing(self) -> tuple[int, ...]:
        """References that predict something else than the main predictor and most references do."""
        if self.agreement is None or self.refiner.teaching is None:
            return ()
        asked = self.refiner.teaching.imputation.numbers
        followed = self.agreement.followed(asked)
        return tuple(number for number in asked if number not in followed)


def conclude(prepared: Prepared) -> Conclusion:
    """Run the diffusion of a prepared problem, and judge what comes of it."""
    return _learn(prepared) if prepared.setup.method.learning else _tune(prepared)


def _tune(prepared: Prepared) -> Conclusion:
    """Let labels choose the step size and the weight scale; without labels, take the references at their word."""
    problem, score = prepared.problem, prepared.score
    path = diffuse(problem, prepared.bridges, prepared.active, score)
    refined = problem.units.from_sphere(path.predictions)
    gain = None if score is None else score.gain(problem.main.scores[score.rows], refined[score.rows])
    verdict = judge_tuned(path, prepared.active, gain, safeguarded=prepared.setup.method.safeguarded)
    refiner = _refiner(prepared, problem.start, path, refined)
    return Conclusion(verdict, path, refiner, refined, None, {}, None)


def _learn(prepared: Prepared) -> Conclusion:
    """Let labels teach, and ask the references."""
    setup, score = prepared.setup, prepared.score
    problem, method = setup.problem, setup.method
    rows = Rows.of_fitted(problem.main, prepared.smoothing)
    subject = Subject(problem, prepared.bridges, score, setup.seed, method.same_target, rows)
    numbers = tuple(np.flatnonzero(prepared.active).tolist())
    found = consult(subject, numbers)
    gain = None if score is None else score.gain(problem.main.scores[score.rows], found.honest[score.rows])
    verdict = judge_learned(found.agreement, gain, safeguarded=method.safeguarded)
    each, together = _worths(subject, found, numbers)
    start = problem.starting_from(found.taught.held_out).start
    refiner = _refiner(prepared, start, found.path, found.scores, found)
    return Conclusion(verdict, found.path, refiner, found.honest, found.agreement, each, together)


def _worths(subject: Subject, found: Consultation, numbers: tuple[int, ...]) -> tuple[Mapping[int, Gain], Gain | None]:
    """What references are worth: by labels, or by what the references say of each other."""
    asked = found.agreement
    if subject.score is None:
        pairs = [len(subject.problem.references[number].main_rows) for number in numbers]
        each = {
            number: Gain(float(worth), float(error), count, "correlation")
            for number, worth, error, count in zip(numbers, asked.worths, asked.worth_errors, pairs, strict=True)
            if np.isfinite(worth) and np.isfinite(error)
        }
        known = np.isfinite(asked.gain) and np.isfinite(asked.standard_error)
        return each, Gain(asked.gain, asked.standard_error, max(pairs), "correlation") if known else None
    if len(subject.problem.main) > MOST_ROWS:
        return {}, None
    return worths(subject, found, numbers)


def _refiner(
    prepared: Prepared, start: FloatArray, path: Path, refined: FloatArray, found: Consultation | None = None
) -> Refiner:
    """What later rows need, and the fitted rows with their ``refined`` scores (n,)."""
    problem, transport, weights = prepared.problem, path.references, final_weights(path)
    smoothing = prepared.smoothing
    bridges = prepared.bridges.on_host()
    if smoothing is not None:
        smoothing = smoothing.over(bridges.graph)
    fit = Fit(problem.main, start, bridges, path.coefficients, smoothing)
    typical = typical_row_sums(problem, transport)
    support = support_of_rows(transport.row_sums * transport.reached, typical, weights)
    if found is None:
        return Refiner(fit, None, None, weights, typical, Refined(refined, support, None))
    fitted = Refined(refined, support, found.errors)
    return Refiner(fit, found.taught.teaching, found.mixture, weights, typical, fitted)
