"""Facts about a result: all of it as JSON can hold it, and how likely rows are in the right order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manifuse.errors import InputError
from manifuse.evidence.intervals import ordered_rightly
from manifuse.kernels.arrays import FloatArray
from manifuse.records import write
from manifuse.tables.containers import rows_of

if TYPE_CHECKING:
    from manifuse.run.refinement import Refinement


def facts_of(result: Refinement) -> dict[str, Any]:
    """Return what was found and chosen; numbers that are not finite are text, such as ``"inf"``."""
    course, diffusion, measured = result.course, result.method.diffusion, result.evidence.measured
    (step_size, *_), (weight_scale, *_) = diffusion.grid
    used = {"standardised": course.standardised, "recall": course.recall, "step_size": step_size}
    used |= {"weight_scale": weight_scale, "share": course.share}
    return {
        "accepted": result.accepted,
        "reason": result.reason.name,
        "why": result.why,
        "findings": write(result.findings),
        "accuracy": write(result.accuracy),
        **({} if result.log_loss is None else {"log_loss": write(result.log_loss)}),
        "gain": write(result.gain),
        "worth": write(result.worth),
        "averaged": None if measured is None else write(measured.averaged),
        "agreement": write(result.evidence.agreement.summary()),
        "unexplained": list(result.evidence.unexplained),
        "uncovered": list(result.evidence.uncovered),
        "vanished": list(result.evidence.vanished),
        "pairs_like_rest": result.evidence.pairs_like_rest,
        "disjoint": list(result.evidence.disjoint),
        "held_out": None if measured is None else measured.held.name,
        "straightened": result.main.straightening is not None,
        "references": write(result.relevance),
        "warnings": [{"code": each.code, "sentence": str(each)} for each in result.warnings],
        "hyperparameters": {**write(course.setting), **write(used), "rounds": course.history[-1].round},
        "rows": len(result.main),
        "fitted": len(result.fitted_model.main),
        "seed": result.seed,
    }


def probability_of_order(result: Refinement, first: Any, second: Any) -> FloatArray:
    """Probability that rows are rightly ordered by their refined scores; see `Refinement.probability`."""
    if result.main.classes is not None:
        raise InputError(
            f"{result.main.name} has classes, which put rows in no order; `predictions` has the probability of each."
        )
    errors = result.refined.uncertainty
    if errors is None:
        why = "no labels came; give labels"
        if result.gain is not None:
            few = "there are too few labels; give more"
            why = few if result.gain.is_of_few else "what labels taught was refused; see `why`"
        raise InputError(f"There are no standard errors, because {why}.")
    one, other = (
        rows_of(side, result.main.keys, name=result.main.name, is_sample=result.is_sample) for side in (first, second)
    )
    if len(one) != len(other):
        raise InputError(f"{len(one)} first and {len(other)} second ids came; give equally many.")
    return ordered_rightly(result.refined.scores[one], result.refined.scores[other], errors[one], errors[other])
