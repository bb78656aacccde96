"""Explanation: why one row moved, or changed class, by the rows that are most like it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, demand
from manifuse.evidence.neighbourhood import Neighbourhood
from manifuse.grid import ABSENT, Grid, as_html, as_text, figures
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.keys import locate
from manifuse.report.pictures import shift_of
from manifuse.report.reference_opinion import ReferenceOpinion, demand_own
from manifuse.report.score_wording import ScoreWording, told_of
from manifuse.run.changed_rows import changed_rows
from manifuse.run.refinement import Refinement
from manifuse.tables.arranging import with_features_of
from manifuse.tables.containers import rows_of
from manifuse.tables.frame_reading import ClassColumns
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.straightening import straightened_by
from manifuse.tables.user_tables import FrameColumns
from manifuse.words.finding import listed
from manifuse.words.wording import SUPPORT, fill


@dataclass(frozen=True)
class Explanation:
    """Why a row moved.

    Attributes
    ----------
    sentences : tuple of str
        How it moved, and what the rows that are most like it say.
    rows : Grid
        The row, the main rows that are nearest to it, of each reference the row itself, if it knows it, and the
        nearest other common rows, and the nearest labelled rows with their labels.
    """

    sentences: tuple[str, ...]
    rows: Grid

    def __str__(self) -> str:
        return "\n".join([*map(fill, self.sentences), "", as_text(self.rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences) + as_html(self.rows)


def explain(
    result: Refinement,
    row: Any,
    references: Any = (),
    *,
    labels: Any = None,
    later: Any = None,
    id: str | None = None,  # noqa: A002
    score: str | None = None,
    classes: ClassColumns = None,
    label: str = "label",
    drop: Sequence[str] | None = None,
) -> Explanation:
    """Explain why one row moved, by the rows whose features are most like its own.

    A refinement gives rows that are alike scores that are alike. So a row rises if the rows that are most like it have
    higher scores than itself, or if a reference gives higher scores to the nearest rows that both know. Labels teach
    where the truth of rows like it is higher than their scores.

    Parameters
    ----------
    result : Refinement
    row : object
        The id of a main row, or of a row of ``later``.
    references : Observations or data frame, or sequence of these, optional
        The references as they came. A refinement keeps no tables of them.
    labels : RankLabels, ClassLabels or data frame, optional
        The graded labels, or those of classes, that taught.
    later : Observations or data frame, optional
        Rows that came later, as for `Refinement.apply`. The row is explained as if it alone had come; one that was
        fitted, and has changed since, as a new row.
    id, score, classes, label, drop
        Columns of data frames, as of `refine`. By default those of labels are in ``"label"``, and the others are as
        those of the main table. References with other classes need ``classes`` as an expression.

    Returns
    -------
    Explanation
        Places are percentiles: 0 for the lowest score of a table, 100 for its highest. Of a regression, they stand in
        brackets after the score in the units of its table. Of classes, the most probable one and its probability stand
        in their place. Labels are as they came. Distances are in units of the median distance of a main row from this
        one.

    Raises
    ------
    InputError
        If the main table or ``later`` has no such id, the result no such reference, a reference or the labels no
        common rows, or the labels are ordered pairs.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics()
    >>> result = mf.refine(clinics.main, clinics.references, rng=0)
    >>> why = mf.explain(result, clinics.main.keys[200], clinics.references)
    >>> len(why.rows.body)
    9
    """
    demand(Refinement, result)
    _demand_id(row)
    fitted, keys = result.fitted_model.main, result.main.keys
    classes = result.provenance.classes if classes is None else classes
    columns = FrameColumns.like(fitted, id=id, score=score, classes=classes, label=label, drop=drop)
    if later is not None:
        result, row, keys = _with_later(result, row, columns.observe(later, name="the frame", fitted=fitted))
    main, names = result.main, [entry.name for entry in result.relevance]
    references = columns.observe_all(references, names, without=columns.truth_in(labels))
    labels = columns.labels_of(labels, main)
    (place,) = rows_of([row], main.keys, name=main.name, is_sample=result.is_sample)
    opinions, known = _opinions(result, references, keys), _known(labels, main)
    sides = (None, result.refined.in_scale_of(main).scores)
    before, after = (told_of(main, each, with_values=result.method.is_regression) for each in sides)
    near = Neighbourhood.of(main, place, standardised=result.course.standardised[0] is not False)

    def line(what: str, each: int, theirs: str = ABSENT) -> dict[str, str]:
        return {
            "row": what,
            "id": str(main.keys[each]),
            "distance": f"{near.distances[each]:.2f}",
            "before": before.at(each),
            "after": after.at(each),
            **({"theirs" if labels is None else "theirs, or label": theirs} if names or labels is not None else {}),
        }

    sentences = [shift_of(result).moved(place)]
    lines = [line("this row", place), *(line("nearest", each) for each in near.near)]
    sentences += _alike(near, before, after)
    for heard in opinions:
        (pairs, theirs), name = near.pairs(heard.table.keys), heard.table.name
        lines += [line(f"this row, {name}", place, heard.cell(place))] if heard.known[place] else []
        lines += [line(f"pair, {name}", each, heard.told.at(at)) for each, at in zip(pairs, theirs, strict=True)]
        sentences += _said_by(heard, place, theirs, before, pairs)
    if labels is not None:
        labelled, _ = near.pairs(labels.keys)
        lines += [line("labelled", each, known[main.keys[each]]) for each in labelled]
        sentences += _said_by_labels([known.get(main.keys[each], "") for each in (place, *labelled)], before, labelled)
    sentences += _evidence(result, place)
    return Explanation(tuple(sentences), Grid.of(lines))


def _demand_id(row: Any) -> None:
    """Refuse a row of a data frame, or several ids, where one id is expected."""
    if np.ndim(row) != 0:
        raise InputError(f"{type(row).__name__} came for the row to explain, but one id was expected; give that.")


def _with_later(result: Refinement, row: Any, later: Observations) -> tuple[Refinement, str, NDArray[np.str_]]:
    """Return the result with one more row, which came later, and what it is called; or itself, if it has that row.

    A row that came again has another name. References know it by its id, so the ids of all rows are returned, too.
    """
    one = straightened_by(later.take(rows_of([row], later.keys, name=later.name)), result.main.straightening)
    main, (rows, known), asked = result.main, locate(one.keys, result.main.keys), str(one.keys[0])
    if known.all() and not changed_rows(one, main, rows, known).any():
        return result, asked, main.keys
    refined = result.refined.followed_by(result.refine_later(one))
    if known.all():
        one.keys = np.array([f"{asked}, as it came later"])
    both = main.followed_by(with_features_of(one, main))
    return replace(result, main=both, refined=refined), str(one.keys[0]), np.append(main.keys, asked)


def _opinions(
    result: Refinement, references: Sequence[Observations], keys: NDArray[np.str_]
) -> list[ReferenceOpinion]:
    """What references say that took part; refuse one that the result does not know, or without common rows."""
    demand_own(result, references)
    for reference in references:
        _demand_common(reference.name, reference.keys, result.main)
    used = {entry.name for entry in result.relevance if entry.standing.is_used}
    with_values = result.method.is_regression
    taking_part = [each for each in references if each.name in used]
    return [ReferenceOpinion.of(result, each, keys, with_values=with_values) for each in taking_part]


def _alike(near: Neighbourhood, before: ScoreWording, after: ScoreWording) -> list[str]:
    """Say what the rows are that are most like it; nothing without features."""
    if not len(near.near):
        return []
    sides = f"{before.among(near.near)} before, and {after.among(near.near)} after"
    return [f"The {len(near.near)} rows most like it are {sides}."]


def _said_by(
    heard: ReferenceOpinion, place: int, theirs: IndexArray, ours: ScoreWording, pairs: IndexArray
) -> list[str]:
    """Say what a reference says of the row itself and of the nearest ``pairs``, which are its rows ``theirs``."""
    name, said = heard.table.name, []
    if heard.known[place]:
        said.append(f"“{name}” knows this row itself, and {heard.told.puts('it', heard.rows[[place]])}.")
    if len(pairs):
        rows, them = ("row", "it") if len(pairs) == 1 else (f"{len(pairs)} rows", "them")
        near = heard.told.puts(f"the nearest {rows} that both know", theirs)
        said.append(f"“{name}” {near}, where {ours.yours(them, pairs)}.")
    return said or [f"Without features, no row that “{name}” knows is near."]


def _said_by_labels(known: Sequence[str], before: ScoreWording, near: IndexArray) -> list[str]:
    """Say what the labels of the row, if it has one, and of the nearest labelled rows are, and what these came as."""
    own, *others = known
    said = [f"Its own label is {own}."] if own else []
    if len(near):
        yours = before.beside_labels("these rows", near)
        said.append(f"The labels of the nearest labelled rows are {listed(others)}; {yours}.")
    return said


def _known(labels: RankLabels | ClassLabels | None, main: Observations) -> dict[str, str]:
    """The label of every row as text, by its id; none without labels."""
    if labels is None:
        return {}
    demand(RankLabels if main.classes is None else ClassLabels, labels)
    _demand_common("The labels", labels.keys, main)
    if isinstance(labels, ClassLabels):
        return dict(zip(labels.keys.tolist(), labels.names.tolist(), strict=True))
    if labels.grades is None:
        raise InputError("The labels are ordered pairs, which put no row at a place; give graded labels, or none.")
    return dict(zip(labels.keys.tolist(), map("{:g}".format, labels.grades), strict=True))


def _demand_common(name: str, keys: NDArray[np.str_], main: Observations) -> None:
    if not np.isin(keys, main.keys).any():
        raise InputError(f"{name} and {main.name} have no rows in common; give what was refined with.")


def _evidence(result: Refinement, place: int) -> list[str]:
    """Say how much evidence the row has."""
    if not result.accepted:
        return ["The refinement was not taken, so no row moved."]
    refined = result.refined.in_scale_of(result.main)
    support, errors = refined.support, refined.uncertainty
    alone, said = "", f"Its support is {support[place]:.2f} ({SUPPORT})." if result.relevance else ""
    if result.main.keys[place] in result.evidence.unexplained:
        alone = "It moved far on what references say of it alone; neither features nor other rows explain that."
    error = "" if errors is None else f"Its refined score has a standard error of {figures(errors[place], 2)}."
    evidence = " ".join(each for each in (alone, said, error) if each)
    return [evidence] if evidence else []
