"""Truth: what scikit-learn calls ``y``, one value for every row, as labels of the rows where it is known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import is_missing
from manifuse.tables.classes import Classes
from manifuse.tables.containers import to_numpy, to_text
from manifuse.tables.labels import RankLabels, to_grades
from manifuse.tables.observations import Observations


def graded(main: Observations, y: Any) -> RankLabels | None:
    """Make labels of the rows where ``y`` (n,) is known; None if there are none."""
    known, grades = known_grades(y, len(main))
    return RankLabels(main.keys[known], grades) if len(known) else None


def known_grades(y: Any, rows: int) -> tuple[IndexArray, FloatArray]:
    """Return the rows where ``y`` is not NaN, and its values there."""
    grades = to_grades(y, what="y")
    if len(grades) != rows:
        raise InputError(
            f"y has {many(len(grades), 'value')} but X has {many(rows, 'row')}; give one per row, NaN if unknown."
        )
    known = np.flatnonzero(~np.isnan(grades))
    if set(grades[known].tolist()) == {-1.0, 0.0, 1.0}:
        unsure = "y holds -1, 0 and 1, and -1 is taken as a truth below 0; if it means unknown, give NaN there."
        warn("minus_one_in_labels", unsure, stacklevel=4)
    return known, grades[known]


def known_names(y: Any, rows: int) -> tuple[IndexArray, NDArray[np.str_]]:
    """Rows where ``y`` names a class, and the names there."""
    values = to_numpy(y, what="y")
    if values.shape != (rows,):
        raise InputError(f"y came with shape {values.shape}, but X has {many(rows, 'row')}; give one class per row.")
    known = np.array([row for row, value in enumerate(values.tolist()) if not is_missing(value)], dtype=np.intp)
    return known, to_text(values[known], what="y")


def named_of(names: NDArray[np.str_], classes: Classes) -> NDArray[np.str_]:
    """Names of classes, where whole numbers that name none are places among the sorted classes.

    scikit-learn's ``cross_val_predict(method="predict_proba")`` gives such numbers in place of the names.
    """
    places, ordered = {str(place) for place in range(len(classes))}, np.array(sorted(classes.names))
    came = set(names.tolist())
    if came <= places and not came & set(classes.names):
        return np.asarray(ordered[names.astype(np.intp)])
    return names
