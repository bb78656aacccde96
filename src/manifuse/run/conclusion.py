"""Conclusion: the outcome of a run, taken or not, and why."""

from dataclasses import replace
from typing import Literal

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.columns.column import mixed
from manifuse.columns.expected import Expected
from manifuse.columns.held_labels import Labels
from manifuse.columns.like_rest import pairs_are_like_rest
from manifuse.columns.run_order import refine_columns
from manifuse.columns.scored import HeldOutScores, OwnScores, Scoring, comparable, in_units
from manifuse.columns.temperature_of_mean import temperature_by_mean
from manifuse.columns.unexplained import unexplained_rows
from manifuse.evidence.by_class import ByClass, reliability_of_risks
from manifuse.evidence.chosen_labels import chosen_by_class, offset_that_keeps
from manifuse.evidence.class_score import LogLoss, calibrate, risks_of
from manifuse.evidence.found import Evidence, Measurement
from manifuse.evidence.gain import Accuracy, Gain, Measure
from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.intervals import error_scale_of, unevenness_of
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.reason import Reason
from manifuse.evidence.score import Score
from manifuse.evidence.verdict import Verdict, judge
from manifuse.kernels.arrays import FloatArray
from manifuse.run.course import Course
from manifuse.run.fitted_model import FittedModel
from manifuse.run.method import JointDiffusion
from manifuse.run.relevances import disjoint_of, metric_of, relevance_of, worths_of
from manifuse.tables.observations import Observations

#: What was found turns own scores around if its correlation with them is below 0 by more standard errors than this:
#: the first number holds at held-out labels, the second at all fitted rows.
TURNED_HELD_OUT, TURNED = 1.0, 2.0


def conclude(method: JointDiffusion, given: RunInputs) -> tuple[Evidence, Course, FittedModel]:
    """Let every column of a prepared problem follow, and judge what comes of it."""
    problem = given.problem
    found = refine_columns(given)
    held_out = _held_out_scores(given, found)
    verdict, scored, measured = _judged(given, found, held_out, safeguarded=method.safeguarded)
    fitted_model = FittedModel.of(problem.main, given.bridges.graph, found, scored)
    each, worth = worths_of(given, found, held_out)
    expected, refined = found.columns.expected, fitted_model.fitted
    if measured is not None and measured.risk is not None and isinstance(given.score, GradedRanking):
        before, after = (problem.main.in_scale(each).mean() for each in (problem.main.scores, refined.scores))
        measured = replace(measured, mean_risks=(float(given.score.truth.mean()), float(before), float(after)))
    evidence = Evidence(
        name=problem.main.name,
        verdict=verdict,
        relevance=relevance_of(given, method.ignored, found, refined, each),
        metric=metric_of(problem, refined),
        agreement=found.agreement,
        asked=tuple(given.taking_part),
        measured=measured,
        worth=worth,
        unexplained=unexplained_rows(problem.main, found, scored, refined.scores) if verdict.accepted else (),
        uncovered=() if expected.covered is None else expected.covered.names_of_others(expected.pulls),
        vanished=() if given.is_sample else _vanished(problem.main, refined.scores),
        pairs_like_rest=pairs_are_like_rest(found.views.fitted, expected.pulls),
        disjoint=disjoint_of(given, found),
    )
    return evidence, Course.of(given, found), fitted_model


def _vanished(main: Observations, refined: FloatArray) -> tuple[str, ...]:
    """Classes that were most probable in some row before, and are in none any more; none of scores."""
    if main.classes is None:
        return ()
    had, has = (set(main.classes.most_probable(main.in_scale(each)).tolist()) for each in (main.scores, refined))
    return tuple(name for name in main.classes.names if name in had - has)


def _held_out_scores(given: RunInputs, found: RunOutputs) -> HeldOutScores | None:
    """What was found at labelled rows that were held out; None without labels."""
    if found.labels is None:
        return None
    trials = found.views.trials.get(found.columns.last, found.views.trials["taught"])
    own = given.problem.main.scores[found.labels.score.rows]
    return HeldOutScores.of(given.problem.units, own, trials, found.labels, found.columns.taught)


def _judged(
    given: RunInputs, found: RunOutputs, held_out: HeldOutScores | None, *, safeguarded: bool
) -> tuple[Verdict, Scoring, Measurement | None]:
    """Decide how far what was found is taken, and measure what comes of it."""
    if held_out is None:
        scored, gain, at_pairs = Scoring.of(given.problem.units.scaled(temperature_by_mean(given, found))), None, None
    else:
        scored, gain, at_pairs = held_out.scored, held_out.gain, _gain_at_pairs(given, found, held_out)
    turned = _is_turned(given, found, scored)
    # Where what was learned turns all around, no row follows, and scores in other units are only brought into units.
    pairs_follow = _pairs_follow(found, at_pairs) and not (safeguarded and turned)
    verdict = judge(
        found.agreement,
        gain,
        safeguarded=safeguarded,
        turned=turned,
        pairs_follow=pairs_follow,
        fallback=_fallback(scored, turned=turned),
    )
    scored = replace(scored, certainty=verdict.certainty, pairs_follow=pairs_follow)
    if held_out is None:
        return verdict, scored, None
    made, measured = _taken(given, found, verdict, held_out, scored)
    if 0 < verdict.certainty < 1 and measured.gain.is_loss:
        # Between what is known and what was found, scores can be worse than both.
        verdict = replace(verdict, certainty=1.0)
        made, measured = _taken(given, found, verdict, held_out, replace(scored, certainty=1.0))
    return verdict, made, replace(measured, at_pairs=at_pairs)


def _taken(
    given: RunInputs, found: RunOutputs, verdict: Verdict, held_out: HeldOutScores, scored: Scoring
) -> tuple[Scoring, Measurement]:
    """Calibrate risks and standard errors by held-out labels, and measure what is taken of what was found."""
    score, folds, risks = held_out.labels.score, held_out.labels.folds, _risks(held_out.labels, given.problem.main)
    between, risk, reliability = mixed(held_out.own, held_out.values, scored.certainty), None, None
    # Where labels refuse, what was refused is measured.
    refined = between if scored.certainty > 0 else held_out.values
    if risks is not None:
        own = given.problem.main.scores[score.rows, None]
        (offset, slope), judged = calibrate(between[..., None], risks, folds)
        if risks.are_chosen:
            # Such labels say how far risks differ, and not how large they are.
            everywhere = given.problem.main.scores
            refined_there = scored.scores(everywhere, *found.columns.of_scores(found.views.fitted))
            kept = offset_that_keeps(everywhere, slope * refined_there)
            offset, judged = kept, judged + kept - offset
        scored, refined = scored.calibrated(offset, slope), offset + slope * refined
        gain, before = risks.gain(own, judged, folds), risks.measured(own)
        risk = Accuracy("log_loss", before, gain.reached_from(before)), gain
        reliability = reliability_of_risks(risks, own, judged)
    # Few labels do not say how far scores are off. Probabilities of classes say themselves how sure they are.
    if not isinstance(score, LogLoss) and not held_out.gain.is_of_few:
        scored = replace(scored, error_scale=error_scale_of(refined, found.views.trials["variance"], score, folds))
    measured = _measured(given, found, held_out, refined, verdict)
    calibrated = verdict.accepted and scored.own_became is OwnScores.CALIBRATED
    chosen = any(each.are_chosen for each in (score, risks) if isinstance(each, LogLoss))
    measured = replace(measured, calibrated=calibrated, chosen=chosen)
    return scored, replace(measured, risk=risk, reliability=reliability) if verdict.accepted else measured


def _risks(labels: Labels, main: Observations) -> LogLoss | None:
    """The log loss of risks, whose labels may be chosen by class; None of other scores or labels."""
    risks = risks_of(labels.score, main.scale)
    if risks is None or labels.folds.held is Held.BY_GROUP:
        return risks
    return chosen_by_class(risks, main.scores[:, None])


def _fallback(scored: Scoring, *, turned: bool) -> Reason | None:
    """What labels do with own scores where what was found is refused; labels that turn classes around do nothing."""
    if scored.own_became is OwnScores.IN_UNITS_OF_LABELS:
        return Reason.UNITS
    return Reason.CALIBRATED if scored.own_became is OwnScores.CALIBRATED and not turned else None


def _gain_at_pairs(given: RunInputs, found: RunOutputs, held_out: HeldOutScores) -> Gain | None:
    """What following references in full gains at labelled rows that they know themselves; None if labels are few."""
    views, scored = found.views, held_out.scored
    score = held_out.labels.score.only(np.flatnonzero(views.fitted["known itself"][held_out.labels.score.rows]))
    if score is None:
        return None
    own = scored.own.undo(given.problem.main.scores[score.rows])
    expected = found.columns.expected.with_pulls(views.held_out, found.agreement.pulls_without_labels)
    values = expected.at(views.fitted.take(score.rows))
    gain = score.gain(own, in_units(scored.expected, values))
    return None if gain.is_of_few else gain


def _is_turned(given: RunInputs, found: RunOutputs, scored: Scoring) -> bool:
    """Whether what was found turns own scores around, or leaves none of their order, or they rank labels backwards."""
    if found.labels is None:
        return False
    if scored.last.deviation == 0:
        return True
    score = found.labels.score
    if score.is_backwards(given.problem.main.scores[score.rows]):
        return True
    held_out, fitted = (
        correlation(known["own"], known[found.columns.last]) for known in (found.views.held_out, found.views.fitted)
    )
    # Where nearly all rows have labels, what is fitted can turn around while what is held out does not.
    own = found.views.fitted["own"]
    return bool(held_out < -TURNED_HELD_OUT / np.sqrt(own.size) or fitted < -TURNED / np.sqrt(len(own)))


def _pairs_follow(found: RunOutputs, at_pairs: Gain | None) -> bool:
    """Whether rows that references know themselves follow them, unless labels there show a loss, certain or not."""
    followed = found.agreement.is_followed and bool(found.views.fitted["known itself"].any())
    return followed and (at_pairs is None or at_pairs.value >= 0)


def _measured(
    given: RunInputs, found: RunOutputs, held_out: HeldOutScores, refined: FloatArray, verdict: Verdict
) -> Measurement:
    """What labels measure, by refined scores of held-out labelled rows, taken or not."""
    score, labels = given.score, held_out.labels
    assert score is not None, "there are labels"
    taught = labels.score
    own = held_out.own if score.measure == "rmse" else given.problem.main.scores[taught.rows]
    # What is not taken is compared with what stays: of classes, with own probabilities that may be calibrated.
    there = own if verdict.takes_what_was_found or not verdict.accepted else held_out.own
    gain = taught.gain(there, refined, labels.folds)

    def change(measure: Measure, before: float, stays: float, gained: Gain) -> Accuracy:
        return Accuracy(measure, before, gained.reached_from(before) if verdict.takes_what_was_found else stays)

    before, stays = (taught.measured(each, labels.folds) for each in (own, there))
    # Own scores have seen no label, so that all rows can be compared.
    together = labels.folds.together()
    own_alone = found.views.held_out["own"][None, taught.rows]
    unrelated = _says_nothing(taught, comparable(given.problem.units, own_alone, taught.order(), together), together)
    accuracy = change(score.measure, before, stays, gain)
    measured = Measurement(
        accuracy,
        gain,
        labels.folds.held,
        backwards=taught.is_backwards(given.problem.main.scores[taught.rows]),
        unrelated=unrelated,
        unpredicted=unrelated and _says_nothing(taught, refined, labels.folds, errors=1.0),
        as_if_unknown=not found.views.fitted.known[taught.rows][:, found.columns.references.usual].any(),
        uncalibrated=_why_uncalibrated(given.problem.main, score),
        in_other_units=held_out.scored.own_became is OwnScores.IN_UNITS_OF_LABELS,
        averaged=_averaged(given, found, labels, there, refined),
        uneven=unevenness_of(refined, found.views.trials["variance"], taught),
        representative=labels.representative,
        drawn_from=len(score.rows) if score.contrasts() is None and len(score.rows) > len(taught.rows) else None,
    )
    if not isinstance(score, LogLoss) or not isinstance(taught, LogLoss):
        return measured
    right, share = taught.gain_in_accuracy(own, refined, labels.folds), float(taught.is_right(own).mean())
    by_class = ByClass.of(taught, own, refined)
    return replace(measured, right=(change("class_accuracy", share, share, right), right), by_class=by_class)


def _why_uncalibrated(main: Observations, score: Score) -> Literal["scale", "labels"] | None:
    """See `Measurement`."""
    if main.classes is not None:
        return None
    if risks_of(score, "probability") is None:
        return "labels" if main.scale == "probability" else None
    return "scale" if main.scale == "score" and main.came.min() >= 0 and main.came.max() <= 1 else None


def _says_nothing(score: Score, values: FloatArray, folds: Folds, *, errors: float = 2.0) -> bool:
    """Whether values (r, l, ...) say no more of the order of the labels than chance could, though these are many.

    Chance could make so many standard ``errors``.
    """
    if isinstance(score, LogLoss):
        # Probabilities that are too sure have a large log loss, and may know of the labels all the same.
        return not (score.is_of_few or score.beyond_chance(values[0]) > errors)
    order = score.order()
    known = order.gain(np.zeros(len(order.rows)), values, folds)
    return not (known.is_of_few or known.value > errors * known.standard_error)


def _averaged(
    given: RunInputs, found: RunOutputs, labels: Labels, own: FloatArray, refined: FloatArray
) -> tuple[Gain, Gain] | None:
    """What imputing and averaging gains at held-out labelled rows, and what refined scores gain over it.

    The last parameters are own scores (l, ...) and refined ones (r, l, ...) there.
    """
    if not given.taking_part:
        return None
    score, folds, known = labels.score, labels.folds, found.views.held_out
    values = Expected.measured(known, np.ones(len(given.taking_part))).at(known)[score.rows]
    # No label was seen, so all trials are alike; they are compared within the same folds.
    trials = np.repeat(values[None], len(refined), axis=0)
    averaged = HeldOutScores.of(given.problem.units, own, trials, labels).values
    return score.gain(own, averaged, folds), score.gain(averaged, refined, folds)
