"""The page about one refinement: put together, and written."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manifuse.errors import InputError, demand
from manifuse.files import check_writable, path_of, write_whole
from manifuse.grid import Grid
from manifuse.report import refinement_tables as tables
from manifuse.report.class_quality import by_class_grid
from manifuse.report.class_shift import ClassShift
from manifuse.report.drawing import LEGIBLE
from manifuse.report.markup import page_writer, render
from manifuse.report.pictures import DOTS, INTERVALS, MOST_DRAWN, pictures_of, shift_of
from manifuse.report.reference_opinion import ReferenceOpinion, demand_own
from manifuse.report.refinement_statistics import Shift, by_weight, largest
from manifuse.run.refinement import Refinement
from manifuse.tables.observations import Observations
from manifuse.tables.user_tables import FrameColumns
from manifuse.words.reasons import REASONS
from manifuse.words.wording import doubt_of, headline_of, verdict_of

#: Rows in each list of rows that moved.
LISTED = 10

#: References that are heard on rows that changed class.
HEARD = 3


def write_report(result: Refinement, path: Path | str, *, references: Any = (), seconds: float | None = None) -> None:
    """Write a page that says what a refinement is worth and why: one HTML file that loads nothing from elsewhere.

    Parameters
    ----------
    result : Refinement
        From `refine` or `load`.
    path : path-like
        Ends in ``.html``. The file is written completely or not at all.
    references : Observations or data frame, or sequence of these, optional
        The references as they came, data frames with the column names of the main table; those with other classes
        as Observations with the names of the result. With them the page shows their numbers of features and, of
        classes, what they say of rows that changed; a refinement does not keep either.
    seconds : float, optional
        How long the run took, if the page should say so.

    Raises
    ------
    InputError
        If ``result`` is not a refinement, has no such references, or the file cannot be written there.

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
    names = [entry.name for entry in result.relevance]
    references = FrameColumns.like(result.main, classes=result.provenance.classes).observe_all(references, names)
    demand_own(result, references)
    path = Path(path_of(path))
    check_report(path)
    write_whole(path, page_writer(page_of(result, references=references, seconds=seconds)))


def check_report(path: Path) -> None:
    """Refuse a page that cannot be made or written, or is not named like one, before any work is done."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path} ends in {path.suffix!r}, but reports end in .html; name it so.")
    check_writable(path)


def page_of(result: Refinement, *, references: Sequence[Observations] = (), seconds: float | None = None) -> str:
    """Return the page as text; see `write_report`."""
    shift = shift_of(result)
    return render(
        "refinement.html",
        result=result,
        headline=headline_of(result.evidence),
        verdict=verdict_of(result.evidence),
        doubt=doubt_of(result.evidence),
        tables=tables,
        references=references,
        answer=REASONS[result.evidence.agreement.answer],
        **_moves(result, shift, references),
        by_class=_by_class(result),
        shift=shift,
        figures={name: draw() for name, draw in pictures_of(result, shift).items()},
        steps=any(step.step > 0 for step in result.history),
        most_dots=DOTS,
        intervals=INTERVALS,
        most_classes=LEGIBLE,
        most_drawn=MOST_DRAWN,
        seconds=seconds,
    )


def _by_class(result: Refinement) -> Grid:
    """How good each class is on held-out labels; no lines of scores, or without labels."""
    measured = result.evidence.measured
    if measured is None or measured.by_class is None or measured.right is None:
        return Grid((), ())
    return by_class_grid(measured.by_class, measured.right[1])


def _moves(result: Refinement, shift: Shift | ClassShift, references: Sequence[Observations]) -> dict[str, Any]:
    """The rows that moved most, or changed class."""
    if isinstance(shift, ClassShift):
        return {"counts": shift.counts_grid(), "changes": shift.changes_grid(LISTED, _heard(result, references))}
    moves = {"risen": shift.rises, "fallen": -shift.rises}
    return {name: tables.moves_grid(shift, largest(rises, LISTED)) for name, rises in moves.items()}


def _heard(result: Refinement, references: Sequence[Observations]) -> list[ReferenceOpinion]:
    """The references that took part, those of the largest weight, if they are there."""
    tables_of = {table.name: table for table in references}
    taken = [result.relevance[index] for index in by_weight(result) if result.relevance[index].standing.is_used]
    return [ReferenceOpinion.of(result, tables_of[entry.name]) for entry in taken if entry.name in tables_of][:HEARD]
