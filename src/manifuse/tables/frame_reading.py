"""Data frames, read as observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.containers import parts_of_frame, to_floats
from manifuse.tables.default_features import OF_FRAME, Shown, demand_no_classes, without_row_numbers
from manifuse.tables.feature_names import warn_of_names

if TYPE_CHECKING:
    from manifuse.tables.observations import Observations


def observe_frame(
    kind: type[Observations],
    frame: Any,
    *,
    id: str,  # noqa: A002
    score: str,
    drop: Sequence[str],
    name: str,
    classes: Mapping[str, str] | Sequence[str] | None,
    fitted: Sequence[str] | None = None,
    **more: Any,
) -> Observations:
    """Read a data frame.

    Parameters
    ----------
    kind : type
        `Observations`.
    frame, id, score, drop, name, classes
        As of `Observations.from_frame`.
    fitted : sequence of str, optional
        Features of a fit; they are features here, whatever they hold.
    **more
        As of `Observations`.

    Raises
    ------
    InputError
        If a column is missing, a feature holds anything but numbers, or features seem to be probabilities of classes.
    """
    columns = (score,) if classes is None else tuple(classes)
    if not columns:
        raise InputError(f"No columns of classes were named for {name}; give the names of two columns or more.")

    def choose(table: nw.DataFrame[Any], there: list[str]) -> list[str]:
        if not all(isinstance(each, str) for each in there):
            return there

        def look(names: Sequence[str], rows: int | None) -> FloatArray:
            chosen = table.select(list(names)).head(len(table) if rows is None else rows)
            return to_floats(chosen, what=f"The features of {name}", dimensions=2)

        shown = Shown(name, {each for each, kind in table.schema.items() if kind.is_numeric()}, look)
        names = without_row_numbers(shown, there, fitted or ())
        if classes is None and fitted is None:
            demand_no_classes(shown, names, score, score, OF_FRAME)
        return names

    ids, scores, features = parts_of_frame(frame, id=id, scores=columns, drop=drop, name=name, choose=choose)
    named = list(classes.values()) if isinstance(classes, Mapping) else classes
    made = kind(
        nw.from_native(scores)[score].to_native() if classes is None else scores,
        features,
        ids=ids,
        name=name,
        classes=named,
        **more,
    )
    warn_of_names(name, made.feature_names or ())
    return made
