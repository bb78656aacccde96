"""The page that tells what a refinement is worth: put together, and written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError, demand, require
from manifuse.files import check_writable, write_whole
from manifuse.refinement import Refinement
from manifuse.report import refinement_figures as figures
from manifuse.report import refinement_tables as tables
from manifuse.report import sentences
from manifuse.report.drawing import Figure
from manifuse.report.markup import render
from manifuse.report.refinement_statistics import Course, Metric, Shift, by_weight, metric_of

#: Rows in each list of rows that moved, and dots in a picture of scores; the page says so.
LISTED, DOTS = 10, 1000


def write_report(
    result: Refinement, path: Path | str, *, references: Sequence[Observations] = (), seconds: float | None = None
) -> None:
    """Write a page that says what a refinement is worth and why: one HTML file that needs nothing beside it.

    Parameters
    ----------
    result : Refinement
        Fresh from `refine`, or one that `load` got back.
    path : path-like
        Ends in ``.html``. Written whole or not at all.
    references : sequence of Observations, optional
        The references as they came; the page then tells their sizes, which a refinement does not keep.
    seconds : float, optional
        What the run took, if the page is to say so.

    Raises
    ------
    InputError
        If it is no refinement, or cannot be written there.
    MissingExtraError
        If jinja2 or matplotlib is not installed.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> ours = mf.Observations(np.arange(20.0) + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(np.arange(20.0) + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mf.write_report(result, f"{folder}/ours.html", references=[other])
    ...     page = Path(f"{folder}/ours.html").read_text(encoding="utf-8")
    >>> "The scores of “ours” were refined" in page
    True
    """
    demand(Refinement, result)
    demand(Observations, *references)
    path = Path(path)
    check_report(path)
    write_page(path, page_of(result, references=references, seconds=seconds))


def check_report(path: Path) -> None:
    """Refuse a page that could not be made or written, before any work is done."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path} ends in {path.suffix!r}, but reports end in .html; name it so.")
    check_writable(path)
    for module in ("jinja2", "matplotlib"):
        require(module, extra="report", purpose="The report")


def write_page(path: Path, page: str) -> None:
    """Write a page whole or not at all."""

    def write(temporary: Path) -> None:
        # Names of files that are no text have halves of characters in them, which no encoding has.
        temporary.write_bytes(page.encode(errors="replace"))

    write_whole(path, write)


def page_of(result: Refinement, *, references: Sequence[Observations] = (), seconds: float | None = None) -> str:
    """Return the page as text; see `write_report`."""
    shift, metric = Shift.of(result), metric_of(result)
    return render(
        "refinement.html",
        verdict=sentences.verdict(result),
        headline=sentences.headline(result),
        lead=sentences.lead(result, shift),
        accepted=result.accepted,
        reason=str(result.reason),
        given=tables.given_grid(result, references),
        outcome=tables.outcome_grid(result, shift),
        relevance=tables.relevance_grid(result),
        metric=tables.metric_grid(metric),
        risen=tables.moves_grid(shift.risen(LISTED)),
        fallen=tables.moves_grid(shift.fallen(LISTED)),
        hyperparameters=tables.hyperparameters_grid(result),
        trials=tables.trials_grid(result),
        method=tables.method_grid(result.method),
        reference_figures=_reference_figures(result, metric),
        row_figures=_row_figures(result, shift) if result.accepted else [],
        course_figures=_course_figures(result),
        version=version("manifuse"),
        seed=result.seed,
        seconds=seconds,
    )


def _reference_figures(result: Refinement, metric: Metric) -> list[Figure]:
    order = by_weight(result)
    drawn = order[: figures.MOST_DRAWN]
    only = f" Drawn are the {len(drawn)} of the largest weight." if len(drawn) < len(order) else ""
    own = len(metric.names) - len(order)
    places = [*range(own), *(own + place for place in drawn)]
    shown = replace(metric, names=tuple(metric.names[p] for p in places), values=metric.values[np.ix_(places, places)])
    return [
        Figure(
            "broad-references",
            figures.draw_relevance([result.relevance[place] for place in drawn]),
            "Each line is one reference. Diamonds outside the grey band agree with the main predictor, on rows known "
            f"to both, more than chance would have it.{only}",
        ),
        Figure(
            "narrow-metric" if len(places) <= figures.LEGIBLE else "broad-metric",
            figures.draw_metric(shown),
            "How alike scores are on all main rows, the references as their bridges bring them: 1 is the same up to "
            f"offset and scale, 0 has nothing in common, below 0 runs the other way.{only}",
        ),
    ]


def _row_figures(result: Refinement, shift: Shift) -> list[Figure]:
    rows = shift.sample(DOTS)
    some = (
        f"{len(rows):,} of {len(shift.keys):,} rows are drawn, evenly spaced in the order of the scores before."
        if len(rows) < len(shift.keys)
        else "All rows are drawn."
    )
    drawn = [
        Figure(
            "shift",
            figures.draw_shift(shift, rows),
            f"Scores before and after; on the dotted line nothing changed. Bright rows have much support. {some}",
        )
    ]
    # Where no reference took part, nothing hangs on how far their evidence would arrive.
    if result.weights.any():
        drawn.append(Figure("support", figures.draw_support(shift), "How many rows have how much support."))
    return drawn


def _course_figures(result: Refinement) -> list[Figure]:
    course, choice = Course.of(result), result.choice
    measure = sentences.measure_of(result)
    before = np.nan
    if result.accuracy is not None:
        known = result.accuracy["before"]
        before = -known["rmse"] if result.method.is_regression else known["accuracy"]
    if not course.moved:
        return []
    drawn = [
        Figure(
            "broad-course",
            figures.draw_course(
                course,
                [entry.name for entry in result.relevance],
                by_weight(result)[: figures.MOST_DRAWN],
                measure=f"{measure} on the labels",
                before=before,
            ),
            "Step by step, until "
            + ("the score on the labels rises no more." if np.isfinite(before) else "the predictions settle.")
            + " Where a round begins, bridges are built anew, so that alignments may jump.",
        )
    ]
    if choice.surface is not None and choice.surface.size > 1:
        drawn.append(
            Figure(
                "narrow-surface",
                figures.draw_surface(choice, title="", measure=f"{measure} on the labels, first round"),
                "What the labels say of each step size δ and weight scale σ², in the first round; the cross marks the "
                "chosen cell. A wide bright field means that the choice hardly matters.",
            )
        )
    return drawn
