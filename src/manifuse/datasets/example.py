"""Example: a problem to try things on, with the truth."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.containers import to_floats
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations

GivenLabels = TypeVar("GivenLabels", bound=RankLabels | ClassLabels)


@dataclass(frozen=True, eq=False)
class Example(Generic[GivenLabels]):
    """A main predictor, its references, some labels, and the truth.

    Attributes
    ----------
    main : Observations
    references : tuple of Observations
    labels : RankLabels, ClassLabels or None
        Of some main rows; None if none were asked for.
    truth : (n,) array
        Of all main rows: values, or names of classes.
    test : (t,) array of int
        Main rows without labels, that no reference knows, and that no classifier learned from. Judge on these.
    """

    main: Observations
    references: tuple[Observations, ...]
    labels: GivenLabels | None
    truth: NDArray[Any] = field(repr=False)
    test: IndexArray = field(repr=False)

    def accuracy(self, predictions: FloatArray) -> float:
        """How many test rows are right, in [0, 1].

        Of classes, the share of rows whose most probable class is right. Of scores, the share of pairs of rows with
        different truth that are in the right order; for a truth of 0 and 1 this is the area under the ROC curve.

        Parameters
        ----------
        predictions : (n,) or (n, k) array
            Scores, or probabilities of classes, for all main rows.

        Raises
        ------
        InputError
            If there are more or fewer of them.
        """
        came = self.main.came
        given = to_floats(predictions, what="The predictions", dimensions=came.ndim)
        if given.shape != came.shape:
            raise InputError(
                f"Predictions came with shape {given.shape}, but {came.shape} was expected; give all main rows."
            )
        if self.main.classes is None:
            return ranking_accuracy(self.truth[self.test], given[self.test])
        return float(np.mean(self.main.classes.most_probable(given[self.test]) == self.truth[self.test]))


def whole_number(name: str, value: int, most: int | None = None) -> int:
    """Return an argument, or refuse it.

    Raises
    ------
    InputError
        If it is not a whole number from 0 on, or is larger than ``most``.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < 0 or (most is not None and value > most):
        end = "on" if most is None else f"to {most}"
        raise InputError(f"{name}={value!r} came, but a whole number from 0 {end} was expected; give one.")
    return int(value)
