"""Truth: what scikit-learn calls ``y``, one value for every row, as labels of the rows where it is known."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.columns.refined_scores import RefinedScores, refined_columns
from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import is_blank
from manifuse.run.provenance import Provenance
from manifuse.tables.classes import WHOLE, Classes, names_elsewhere
from manifuse.tables.containers import to_numpy, to_text
from manifuse.tables.labels import to_grades
from manifuse.tables.observations import Observations


def known_grades(y: Any, rows: int) -> tuple[IndexArray, FloatArray]:
    """Return the rows where ``y`` is not NaN, and its values there."""
    grades = to_grades(_of_one_column(y), what="y")
    if len(grades) != rows:
        raise InputError(
            f"y has {many(len(grades), 'value')} but X has {many(rows, 'row')}; give one per row, NaN if unknown."
        )
    known = np.flatnonzero(~np.isnan(grades))
    if np.isinf(grades).any():
        raise InputError("y has infinite values; give numbers, or NaN where the truth is not known.")
    return known, grades[known]


def _of_one_column(y: Any) -> Any:
    """Return ``y`` of shape (n, 1), as data frames have it, with shape (n,)."""
    return to_numpy(y, what="y")[:, 0] if getattr(y, "shape", ())[1:] == (1,) else y


def known_names(y: Any, rows: int) -> tuple[IndexArray, NDArray[Any]]:
    """Rows where ``y`` names a class, and what stands there."""
    values = to_numpy(_of_one_column(y), what="y")
    if isinstance(y, list | tuple) and values.ndim == 1:
        # NumPy would make the text "nan" of a missing value among names.
        values = np.array(y, dtype=object)
    if values.shape != (rows,):
        raise InputError(f"y came with shape {values.shape}, but X has {many(rows, 'row')}; give one class per row.")
    known = np.flatnonzero([not is_blank(value) for value in values.tolist()])
    return known, values[known]


def names_as_given(classes: Classes, *, as_numbers: bool) -> NDArray[Any]:
    """Names of classes (k,): as text or, if wanted ``as_numbers``, whole numbers and truth values as such."""
    known = names_elsewhere(classes.names)
    # 1 and 1.0 may both be classes.
    if as_numbers and all(WHOLE.fullmatch(name) and "." not in name for name in known):
        return np.array(known).astype(np.int64)
    if as_numbers and {*known} == {"False", "True"}:
        return np.array([name == "True" for name in known])
    return np.array(classes.names)


def columns_as_given(rows: Observations, refined: RefinedScores, made_of: Provenance) -> dict[str, NDArray[Any]]:
    """Columns of a table of refined rows, classes as what it was ``made_of`` names them; see `refined_columns`."""
    columns = refined_columns(rows, refined)
    if rows.classes is not None:
        names = names_as_given(rows.classes, as_numbers=made_of.has_numbers)
        for name in ("predicted", "original"):
            columns[name] = names[rows.classes.places_of(columns[name])]
    return columns


def names_in_order(classes: Classes, *, as_numbers: bool) -> NDArray[Any]:
    """Names as `names_as_given`, sorted as scikit-learn sorts them."""
    return np.sort(names_as_given(classes, as_numbers=as_numbers))


def named_of(values: NDArray[Any], classes: Classes) -> NDArray[Any]:
    """Names of classes (l,), as text or numbers, from what a truth has.

    scikit-learn's ``cross_val_predict(method="predict_proba")`` gives the places of the names among the sorted ones in
    their stead.

    Raises
    ------
    InputError
        If it cannot be told which classes places are: some are missing, there are more than classes, or they could be
        names as well.
    """
    came, places = set(to_text(values, what="y").tolist()), {str(place) for place in range(len(classes))}
    whole = all(isinstance(value, Integral) for value in values.tolist())
    by_text, by_number = (names_in_order(classes, as_numbers=flag) for flag in (False, True))
    # scikit-learn takes a missing value for one more class.
    if not whole or not came <= places | {str(len(classes))}:
        return values
    could_be_places = came <= places and any(str(by_number[int(value)]) != value for value in came)
    are_names = bool((classes.places_of(sorted(came)) >= 0).all())
    if are_names and not could_be_places:
        return values
    if not are_names and came == places | {str(len(classes))}:
        raise InputError(
            f"y has {len(came)} numbers for {len(classes)} classes: to predict probabilities, scikit-learn numbers "
            "the classes, and takes rows without a known truth as one more; give the truth of all rows, and every "
            "class in every fold."
        )
    if are_names or came != places or (classes.places_of(by_text) != classes.places_of(by_number)).any():
        numbers, names = (shorten(", ".join(each)) for each in (sorted(came), by_text.astype(str)))
        raise InputError(
            f"y has the numbers {numbers}, the classes are {names}, and it cannot be told whether these are names or "
            "places of names, as scikit-learn gives them for predicted probabilities; give names such as 'class 3', "
            "or numbers that sort as their texts do, with the truth of all rows, and every class in every fold."
        )
    return np.asarray(by_number[values.astype(np.intp)])
