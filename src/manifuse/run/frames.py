"""Data frames of later rows: those of pandas and polars at once, those of Dask partition by partition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from manifuse.columns.refined import Refined
from manifuse.errors import InputError
from manifuse.tables.feature_names import warn_of_further
from manifuse.tables.observations import Observations

#: Columns of refined rows, beside the ids.
WRITTEN = ("score", "original", "support", "error")

#: Refines a table, in its own scale.
Apply = Callable[[Observations], Refined]


def apply_to_frame(apply: Apply, frame: Any, fitted: Observations, names: tuple[str, str], *, errors: bool) -> Any:
    """Refine the rows of a frame.

    Parameters
    ----------
    apply : callable
    frame : data frame
        Of pandas, polars, or any library that narwhals knows, or of Dask.
    fitted : Observations
        The fitted table, whose features are looked for.
    names : tuple of two str
        Of the columns of ids and of scores.
    errors : bool
        Whether there are standard errors.

    Returns
    -------
    data frame
        Of the same library, with columns of ids, refined ``score``, ``original`` score, ``support`` and, if labels
        taught, ``error``. That of Dask is lazy.

    Raises
    ------
    InputError
        If it is no data frame, or lacks a column.
    """
    if names[0] in WRITTEN:
        raise InputError(f"The ids are in a column {names[0]!r}, a name that a refined column has; rename it.")
    refine = partial(_of_eager, apply, fitted=fitted, names=names, errors=errors)
    if type(frame).__module__.startswith("dask") and hasattr(frame, "map_partitions") and hasattr(frame, "columns"):
        _warn_of_columns(tuple(map(str, frame.columns)), fitted, names)
        return frame.map_partitions(refine, meta=refine(frame._meta))
    refined = refine(frame)
    _warn_of_columns(tuple(nw.from_native(frame, eager_only=True).columns), fitted, names)
    return refined


def later_rows(frame: Any, fitted: Observations, names: tuple[str, str]) -> Observations:
    """Read the rows of a frame in memory, with the features of a fitted table; parameters as of `apply_to_frame`."""
    table = _in_memory(frame)
    features = _demand_columns(tuple(table.columns), fitted, names)
    matrix = table.select(list(features)).to_native() if features else None
    ids, scores = (table[name].to_native() for name in names)
    return Observations(scores, matrix, ids=ids, name="the frame", scale=fitted.scale)


def _of_eager(apply: Apply, frame: Any, *, fitted: Observations, names: tuple[str, str], errors: bool) -> Any:
    table = _in_memory(frame)
    _demand_columns(tuple(table.columns), fitted, names)
    ids, scores = (table[name] for name in names)
    columns: dict[str, Any] = {names[0]: ids, "score": np.empty(0), "original": np.empty(0), "support": np.empty(0)}
    columns |= {"error": np.empty(0)} if errors else {}
    if len(table):
        applied = apply(later_rows(frame, fitted, names))
        found = {"score": applied.scores, "original": scores.to_numpy(), "support": applied.support}
        columns |= {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}
        columns |= {} if applied.errors is None else {"error": applied.errors}
    backend = nw.get_native_namespace(table)
    made = {
        name: each if isinstance(each, nw.Series) else nw.new_series(name, each, nw.Float64, backend=backend)
        for name, each in columns.items()
    }
    native = nw.from_dict(made, backend=backend).to_native()
    if hasattr(frame, "index"):
        native.index = frame.index
    return native


def _in_memory(frame: Any) -> nw.DataFrame[Any]:
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputError(
            f"{type(frame).__name__} came where Observations or a data frame was expected; give one of these."
        ) from None


def _warn_of_columns(there: tuple[str, ...], fitted: Observations, names: tuple[str, str]) -> None:
    """Refuse a frame that lacks columns, and warn of columns that are ignored."""
    features = _demand_columns(there, fitted, names)
    if features:
        further = [name for name in there if name not in (*names, *features)]
        warn_of_further(further, fitted=fitted.name, came="The frame")


def _demand_columns(there: tuple[str, ...], fitted: Observations, names: tuple[str, str]) -> tuple[str, ...]:
    """Names of the feature columns: those that were fitted or, if these have no names, all others."""
    wanted = fitted.feature_names
    features = tuple(name for name in there if name not in names) if wanted is None else wanted
    if fitted.table is None:
        features = ()
    missing = [name for name in (*names, *features) if name not in there]
    if missing:
        raise InputError(
            f"The frame has no {missing[0]!r} (it has: {', '.join(map(str, there[:10]))}); "
            + ("name the columns of ids and scores with id= and score=." if missing[0] in names else "give it.")
        )
    return features
