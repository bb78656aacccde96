"""Pictures of one refinement: which there are, and each by its name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from manifuse.errors import InputError, demand, look_up
from manifuse.report.class_quality import draw_confusion, draw_reliability
from manifuse.report.class_shift import ClassShift
from manifuse.report.drawing import draw_alignments
from manifuse.report.refinement_figures import (
    draw_course,
    draw_relevance,
    draw_shift,
    draw_support,
    draw_uncertainty,
    draw_worth,
)
from manifuse.report.refinement_statistics import Shift, by_weight, shown_metric
from manifuse.run.refinement import Refinement

#: The most rows with dots and with intervals in figures of scores, and the most references in other figures.
DOTS, INTERVALS, MOST_DRAWN = 1000, 40, 24

#: Pictures of what labels say.
OF_LABELS = ("worth", "uncertainty", "confusion_before", "confusion_after", "reliability")


def plot(result: Refinement, picture: str | None = None) -> Any:
    """Draw one of the pictures of the report.

    Parameters
    ----------
    result : Refinement
    picture : str
        ``"worth"``: what is lost without each reference. ``"relevance"``: how each reference agrees with the main
        predictor, and its chance level. ``"metric"``: how alike all scores are. ``"shift"``: scores before and after.
        ``"support"``: how much evidence rows have. ``"uncertainty"``: refined scores with intervals of 90 %.
        ``"course"``: the alignments, step by step. Of classes with labels, ``"confusion_before"`` and
        ``"confusion_after"``: which class was taken for which; ``"reliability"``: how often predicted classes are
        right, by how probable they are. Of calibrated risks, ``"reliability"``: how often they come true. By default
        it is ``"worth"``, or without it ``"relevance"``, or the first that there is.

    Returns
    -------
    matplotlib.figure.Figure
        A notebook shows it; ``figure.savefig`` writes it.

    Raises
    ------
    InputError
        If there is no such picture of this result; the message lists those that there are.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics(labels=50)
    >>> result = mf.refine(clinics.main, clinics.references, clinics.labels, rng=0)
    >>> figure = mf.plot(result, "shift")
    >>> figure.axes[0].get_xlabel()
    'score before'
    """
    demand(Refinement, result)
    drawn = pictures_of(result, shift_of(result))
    if picture is None:
        picture = next((name for name in ("worth", "relevance", *drawn) if name in drawn), "worth")
    if picture in OF_LABELS and picture not in drawn and result.gain is None:
        raise InputError(f"The picture {picture!r} needs labels, and none came; draw one of {', '.join(drawn)}.")
    return look_up(picture, drawn, kind="picture")()


def shift_of(result: Refinement) -> Shift | ClassShift:
    """What changed: ranks of scores, or classes."""
    return Shift.of(result) if result.main.classes is None else ClassShift.of(result)


def pictures_of(result: Refinement, shift: Shift | ClassShift) -> dict[str, Callable[[], Any]]:
    """Return what draws each picture of a result; some results have fewer."""
    order = by_weight(result)[:MOST_DRAWN]
    drawn: dict[str, Callable[[], Any]] = {}
    by_class = result.evidence.by_class
    if by_class is not None:
        drawn["confusion_before"] = partial(draw_confusion, by_class, 0)
        drawn["confusion_after"] = partial(draw_confusion, by_class, 1)
        of_classes = "probability of the predicted class", "share of rows that are right"
        drawn["reliability"] = partial(draw_reliability, by_class.reliability, *of_classes)
    risks = result.evidence.measured
    if risks is not None and risks.reliability is not None:
        drawn["reliability"] = partial(draw_reliability, risks.reliability, "risk", "share of labels that are 1")
    measured = [index for index in order if result.relevance[index].worth is not None]
    if measured:
        drawn["worth"] = partial(draw_worth, result, measured)
    if order:
        names, alignments = shown_metric(result, order)
        entries = [result.relevance[index] for index in order]
        drawn["relevance"] = partial(draw_relevance, entries, accepted=result.accepted)
        drawn["metric"] = partial(draw_alignments, alignments, names, measure="alignment, without sign")
    if isinstance(shift, Shift):
        if result.accepted:
            drawn["shift"] = partial(draw_shift, shift, shift.sample(DOTS))
        if shift.uncertainty is not None:
            drawn["uncertainty"] = partial(draw_uncertainty, result, shift.sample(INTERVALS, after=True))
    # Without a reference that took part, support says nothing about the result.
    if result.accepted and result.weights.any():
        drawn["support"] = partial(draw_support, shift.support)
    if order and any(step.step > 0 for step in result.history):
        drawn["course"] = partial(draw_course, result, order)
    return drawn
