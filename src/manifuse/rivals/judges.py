"""Judges: what a comparison asks of predictions on labelled rows that they have not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LinearRegression

from manifuse.errors import InputError
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.gain import Gain
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.rivals.of_classes import LEAST
from manifuse.tables.containers import to_floats
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations


@dataclass(frozen=True, eq=False)
class Judge(ABC):
    """What a comparison asks.

    Attributes
    ----------
    main : Observations
    score : Score
        Of all labelled rows.
    """

    main: Observations
    score: Score
    #: The column of the measure in the table, and whether it is an error, of which less is better.
    column: ClassVar[str] = "accuracy"
    is_error: ClassVar[bool] = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of predictions for all main rows."""
        return (len(self.main),)

    @property
    @abstractmethod
    def truth(self) -> FloatArray | IndexArray:
        """What the labels say of each labelled row (l,)."""

    def can_judge(self, train: IndexArray, test: IndexArray) -> bool:
        """Whether the labels of a fold differ, those that are learned and those that are held out."""
        return all(len(np.unique(self.truth[part])) > 1 for part in (train, test))

    def known(self, kept: IndexArray) -> RankLabels | ClassLabels:
        """Return some of the labels, to learn from."""
        return RankLabels(self.main.keys[self.score.rows[kept]], self.truth[kept])

    @abstractmethod
    def read(self, made: FloatArray, kept: IndexArray, *, in_own_units: bool) -> FloatArray:
        """What is judged of predictions for all main rows, which may be ``in_own_units``, by the labels ``kept``."""

    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """How much better ``after`` is, at all labelled rows."""
        return self.score.gain(before, after)

    def measured(self, values: FloatArray) -> dict[str, float]:
        """The measures of predictions at all labelled rows, by the columns of the table."""
        return {self.column: self.score.measured(values)}

    def checked(self, made: Any, name: str) -> FloatArray:
        """Refuse predictions of another shape, or that are not finite."""
        predictions = to_floats(made, what=f"What {name!r} returned", dimensions=len(self.shape))
        if predictions.shape != self.shape or not np.isfinite(predictions).all():
            raise InputError(f"{name!r} must return a finite prediction for each of {len(self.main)} main rows.")
        return predictions


class JudgeOfRankings(Judge):
    """Held-out rows of all folds are compared with each other, by their ranks among all rows."""

    score: GradedRanking

    @property
    def truth(self) -> FloatArray:
        """See `Judge.truth`."""
        return self.score.grades

    def read(self, made: FloatArray, kept: IndexArray, *, in_own_units: bool) -> FloatArray:
        """See `Judge.read`."""
        del kept, in_own_units
        return np.asarray(rankdata(made))


class JudgeOfValues(Judge):
    """Predictions in other units are brought into those of the labels by a line, which the same labels teach."""

    score: SquaredError
    column: ClassVar[str] = "rmse"
    is_error: ClassVar[bool] = True

    @property
    def truth(self) -> FloatArray:
        """See `Judge.truth`."""
        return self.score.targets

    def read(self, made: FloatArray, kept: IndexArray, *, in_own_units: bool) -> FloatArray:
        """See `Judge.read`."""
        if not in_own_units:
            return made
        line = LinearRegression().fit(made[self.score.rows[kept], None], self.score.targets[kept])
        return np.asarray(line.predict(made[:, None]))


class JudgeOfClasses(Judge):
    """How often the most probable class is right, and the log loss."""

    score: LogLoss

    @property
    def truth(self) -> IndexArray:
        """See `Judge.truth`."""
        return self.score.places

    @property
    def shape(self) -> tuple[int, ...]:
        """See `Judge.shape`."""
        return len(self.main), len(self.score.classes)

    def known(self, kept: IndexArray) -> ClassLabels:
        """See `Judge.known`."""
        names = np.array(self.score.classes.names)[self.score.places[kept]]
        return ClassLabels(self.main.keys[self.score.rows[kept]], names)

    def read(self, made: FloatArray, kept: IndexArray, *, in_own_units: bool) -> FloatArray:
        """See `Judge.read`."""
        del kept, in_own_units
        return self.score.classes.log_ratios(np.log(np.maximum(made, LEAST)))

    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """See `Judge.gain`; of how often the class is right."""
        return self.score.gain_in_accuracy(before, after)

    def measured(self, values: FloatArray) -> dict[str, float]:
        """See `Judge.measured`."""
        return {"accuracy": float(self.score.is_right(values).mean()), "log_loss": self.score.measured(values)}


def table_of(judge: Judge, found: dict[str, FloatArray], base: str) -> dict[str, Sequence[Any]]:
    """A row for each method that was judged, the best first: its measures, and how they differ from ``base``."""
    gains = {name: judge.gain(found[base], each) for name, each in found.items()}
    names = sorted(gains, key=lambda name: -gains[name].value)
    measures = [judge.measured(found[name]) for name in names]
    sign = -1.0 if judge.is_error else 1.0
    return {
        "method": names,
        judge.column: [each.pop(judge.column) for each in measures],
        f"minus_{base}": [sign * gains[name].value + 0.0 for name in names],
        "standard_error": [gains[name].standard_error for name in names],
        **{column: [each[column] for each in measures] for column in measures[0]},
    }


#: Which judge a score asks for.
JUDGES: dict[type[Score], Callable[..., Judge]] = {
    GradedRanking: JudgeOfRankings,
    SquaredError: JudgeOfValues,
    LogLoss: JudgeOfClasses,
}
