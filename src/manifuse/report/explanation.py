"""Explanation: why one row moved, by the rows that are most like it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from manifuse.errors import InputError, demand
from manifuse.evidence.neighbourhood import Neighbourhood, neighbourhood, percentiles_of
from manifuse.grid import ABSENT, Grid, as_html, as_text
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.report.refinement_statistics import Shift
from manifuse.run.frames import LaterFrame
from manifuse.run.refinement import Refinement
from manifuse.tables.arranging import with_features_of
from manifuse.tables.containers import rows_of
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.validity import demand_scores
from manifuse.words.wording import SUPPORT


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
        return "\n".join([*self.sentences, "", as_text(self.rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences) + as_html(self.rows)


def explain(
    result: Refinement,
    row: Any,
    references: Sequence[Observations] = (),
    *,
    labels: RankLabels | None = None,
    later: Any = None,
    id: str = "id",  # noqa: A002
    score: str = "score",
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
    references : sequence of Observations, optional
        The references as they came. A refinement does not keep their scores.
    labels : RankLabels, optional
        The graded labels that taught; it does not keep them either.
    later : Observations or data frame, optional
        Rows that came later, as for `Refinement.apply`. The row is explained as if it alone had come.
    id, score : str
        Columns of a data frame.

    Returns
    -------
    Explanation
        Places are percentiles: 0 for the lowest score of a table, 100 for its highest. Labels are as they came.
        Distances are in units of the median distance of a main row from this one.

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
    demand(Observations, *references)
    demand_scores(result.main, "an explanation shows")
    if later is not None:
        result = _with_later(result, row, _observed(later, result.refiner.main, (id, score)))
    main = result.main
    (place,) = rows_of([row], main.keys, name=main.name)
    shift, used = Shift.of(result), _used(result, references)
    before, after = percentiles_of(shift.before), percentiles_of(shift.after)
    tables = [*references, *([] if labels is None else [_as_table(labels, main)])]
    near = neighbourhood(main, tables, place, standardised=result.course.standardised[0] is not False)

    def line(what: str, each: int, theirs: str = ABSENT) -> dict[str, str]:
        return {
            "row": what,
            "id": str(main.keys[each]),
            "distance": f"{near.distances[each]:.2f}",
            "before": f"{before[each]:.0f}",
            "after": f"{after[each]:.0f}",
            "theirs": theirs,
        }

    sentences = [_moved(str(main.keys[place]), shift, place), *_learned(result, place, before, after)]
    lines = [line("this row", place), *(line("nearest", each) for each in near.near)]
    sentences += _alike(near, before, after)
    for number, name in enumerate(reference.name for reference in references):
        if name in used:
            pairs, theirs, own = near.pairs[number], near.theirs[number], float(near.own[number])
            lines += [line(f"this row, {name}", place, f"{own:.0f}")] if np.isfinite(own) else []
            lines += [line(f"pair, {name}", each, f"{at:.0f}") for each, at in zip(pairs, theirs, strict=True)]
            sentences += _said_by(name, own, theirs, before[pairs])
    if labels is not None:
        known = dict(zip(labels.keys.tolist(), map("{:g}".format, tables[-1].scores), strict=True))
        lines += [line("labelled", each, known[main.keys[each]]) for each in near.pairs[-1]]
        sentences += _said_by_labels(result, known, place, near.pairs[-1], before)
    sentences.append(_evidence(result, place))
    return Explanation(tuple(sentences), Grid.of(lines))


def _observed(later: Any, fitted: Observations, names: tuple[str, str]) -> Observations:
    """Return observations as they are, and read those of a frame."""
    return later if isinstance(later, Observations) else LaterFrame.of(later, fitted, names).observed()


def _with_later(result: Refinement, row: Any, later: Observations) -> Refinement:
    """Return the result with one more row, which came later; the result itself if it has that row."""
    if later.neighbours is not None:
        raise InputError(f"{later.name} came with neighbours, which name its own rows; give features.")
    one = later.take(rows_of([row], later.keys, name=later.name))
    if np.isin(one.keys, result.main.keys).all():
        return result
    refined, main = result.refine_later(one), result.main
    one = with_features_of(one, main)
    both = Observations(
        np.append(main.in_scale(main.scores), one.in_scale(one.scores)),
        None if main.table is None or one.table is None else np.vstack([main.table, one.table]),
        ids=np.append(main.keys, one.keys),
        name=main.name,
        feature_names=main.feature_names,
        scale=main.scale,
    )
    return replace(result, main=both, refined=result.refined.followed_by(refined))


def _used(result: Refinement, references: Sequence[Observations]) -> set[str]:
    """Names of the references that took part; refuse one that the result does not know, or without common rows."""
    known = [entry.name for entry in result.relevance]
    stranger = next((each.name for each in references if each.name not in known), None)
    if stranger is not None:
        raise InputError(f"{stranger} is no reference of this result; give those that it was refined by.")
    for reference in references:
        _demand_common(reference, result.main)
    return {entry.name for entry in result.relevance if entry.standing.is_used}


def _learned(result: Refinement, place: int, before: FloatArray, after: FloatArray) -> list[str]:
    """Say how much of the way is what was learned, and how much the diffusion, if the row was fitted."""
    learned = float(result.refiner.places_before(result.main.keys[[place]])[0])
    if not result.accepted or np.isnan(learned):
        return []
    diffused = ", after the diffusion" if result.course.share > 0 else ""
    teacher = "what the references say" if result.evidence.measured is None else "what the labels taught"
    return [
        f"Its own score is at {before[place]:.0f} of 100 (0 is the lowest); {teacher} puts it at "
        f"{learned:.0f}, and{diffused} it is at {after[place]:.0f}."
    ]


def _alike(near: Neighbourhood, before: FloatArray, after: FloatArray) -> list[str]:
    """Say where the rows are that are most like it; nothing without features."""
    if not len(near.near):
        return []
    return [
        f"The {len(near.near)} rows most like it are at {before[near.near].mean():.0f} of 100 on average before, "
        f"and at {after[near.near].mean():.0f} after."
    ]


def _said_by(name: str, own: float, theirs: FloatArray, ours: FloatArray) -> list[str]:
    """Say where a reference puts the row itself and the nearest pairs, which the main scores put at ``ours``."""
    said = [f"“{name}” knows this row itself, and puts it at {own:.0f}."] if np.isfinite(own) else []
    if len(ours):
        rows, them = ("row", "it") if len(ours) == 1 else (f"{len(ours)} rows", "them")
        said.append(
            f"“{name}” puts the nearest {rows} that both know at {theirs.mean():.0f}, where your scores put {them} at "
            f"{ours.mean():.0f}."
        )
    return said or [f"Without features, no row that “{name}” knows is near."]


def _said_by_labels(
    result: Refinement, known: Mapping[str, str], place: int, near: IndexArray, before: FloatArray
) -> list[str]:
    """Say what the labels ``known`` of the row and of the nearest labelled rows are, and where scores put these."""
    keys, said = result.main.keys, []
    if keys[place] in known:
        said.append(f"Its own label is {known[keys[place]]}.")
    if len(near):
        *first, last = (known[keys[each]] for each in near)
        several = f"{', '.join(first)} and {last}" if first else last
        said.append(
            f"The labels of the nearest labelled rows are {several}; your scores put these rows at "
            f"{before[near].mean():.0f} on average."
        )
    return said


def _as_table(labels: RankLabels, main: Observations) -> Observations:
    """Graded labels as a table of scores, of which some rows are main rows."""
    demand(RankLabels, labels)
    if labels.grades is None:
        raise InputError("The labels are ordered pairs, which put no row at a place; give graded labels, or none.")
    table = Observations(labels.grades, ids=labels.keys, name="The labels")
    _demand_common(table, main)
    return table


def _demand_common(table: Observations, main: Observations) -> None:
    if not np.isin(table.keys, main.keys).any():
        raise InputError(f"{table.name} and {main.name} have no rows in common; give what was refined with.")


def _moved(key: str, shift: Shift, place: int) -> str:
    first, then = (round(float(ranks[place])) for ranks in shift.ranks)
    way = f"stays at rank {first:,}"
    if first != then:
        way = f"{'rises' if then < first else 'falls'} from rank {first:,} to {then:,}"
    return f"“{key}” {way} of {len(shift.keys):,}."


def _evidence(result: Refinement, place: int) -> str:
    """Say how much evidence the row has."""
    if not result.accepted:
        return "The refinement was not taken, so no row moved."
    refined = result.refined.in_scale_of(result.main)
    support, errors = refined.support, refined.errors
    error = "" if errors is None else f" Its refined score has a standard error of {errors[place]:.2g}."
    return f"Its support is {support[place]:.2f} ({SUPPORT}).{error}"
