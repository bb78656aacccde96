"""By class: what held-out labels say of each class, and of the probabilities, before a refinement and after it."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import sem

from manifuse.evidence.class_score import LogLoss
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.classes import Classes

#: Labels of a bin of probabilities, if there are so many, and bins at most.
BINNED, MOST_BINS = 20, 10


@dataclass(frozen=True, eq=False)
class ByClass:
    """What labels say of classes. Each labelled row is judged without its own label, by the mean of several trials.

    Two numbers have seen all labels: the temperature that calibrates what is refined, and how far the refinement goes.
    Nothing in it belongs to a single row, so that a saved refinement does not have the labels.

    Attributes
    ----------
    classes : Classes
    counts : (2, k, k) array
        Labelled rows of each class, in lines, that are predicted to be of each class, in columns; before and after.
    errors : (k,) array
        Standard error of how much the share of right rows of each class changes, paired over its rows; NaN for fewer
        than two.
    reliability : (2, b, 3) array
        Rows in b bins of almost equal size, by the probability of their predicted class, before and after: the mean of
        this probability, the share of rows whose class is right, and the number of rows.
    brier : tuple of float
        The Brier score before and after: the mean over rows of the squared differences, summed over classes, of
        probabilities and truth, in [0, 2]. Less is better.
    """

    classes: Classes
    counts: FloatArray
    errors: FloatArray
    reliability: FloatArray
    brier: tuple[float, float]

    @classmethod
    def of(cls, score: LogLoss, before: FloatArray, after: FloatArray) -> Self:
        """Measure log-ratios before (l, k - 1) and after (r, l, k - 1), in r trials, at labelled rows."""
        sides = [np.exp(score.logarithms(each)) for each in (before[None], after)]
        right = [score.is_right(each) for each in (before[None], after)]
        changes = right[1].mean(axis=0) - right[0][0]
        of_class = [changes[score.truth == place] for place in range(len(score.classes))]
        return cls(
            classes=score.classes,
            counts=np.array([_counts(each, score) for each in sides]),
            errors=np.array([sem(each) if len(each) > 1 else np.nan for each in of_class]),
            reliability=np.array(
                [reliability_of(each.max(axis=2), so) for each, so in zip(sides, right, strict=True)]
            ),
            brier=(_brier(sides[0], score), _brier(sides[1], score)),
        )

    @property
    def labels(self) -> FloatArray:
        """Labelled rows of each class (k,)."""
        return np.asarray(self.counts[0].sum(axis=1).round())

    @property
    def untaught(self) -> list[str]:
        """Names of the classes that no label is of."""
        return [name for name, labels in zip(self.classes.names, self.labels, strict=True) if labels == 0]

    @property
    def right(self) -> FloatArray:
        """Share of the rows of each class that are right, before and after (2, k); NaN for a class without labels."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.diagonal(self.counts, axis1=1, axis2=2) / self.labels)


def _counts(probabilities: FloatArray, score: LogLoss) -> FloatArray:
    """Rows of each class that are predicted to be of each class (k, k), the mean of trials (r, l, k)."""
    counts = np.zeros((len(score.classes),) * 2)
    np.add.at(counts, (score.truth, probabilities.argmax(axis=2)), 1.0)
    return counts / len(probabilities)


def reliability_of(said: FloatArray, right: FloatArray) -> FloatArray:
    """Bins (b, 3) of rows, from probabilities (r, l) in r trials, and 1 where the predicted event happened (r, l)."""
    trials, rows = said.shape
    parts = np.array_split(said.argsort(axis=None, kind="stable"), int(np.clip(rows // BINNED, 1, MOST_BINS)))
    each = ((said.ravel()[part].mean(), right.ravel()[part].mean(), len(part) / trials) for part in parts)
    return np.array(list(each))


def reliability_of_risks(risks: LogLoss, before: FloatArray, after: FloatArray) -> FloatArray:
    """Bins (2, b, 3) of labelled rows by their risk, from log-odds before (l, 1) and after (r, l, 1).

    They are as those of `ByClass`: the mean risk, the share of labels that are 1, and the number of rows.
    """
    said = [np.exp(risks.logarithms(each))[..., 1] for each in (before[None], after)]
    return np.array([reliability_of(each, np.broadcast_to(risks.truth, each.shape)) for each in said])


def _brier(probabilities: FloatArray, score: LogLoss) -> float:
    """The Brier score of several classes, from probabilities (r, l, k)."""
    return float(np.mean(np.sum((probabilities - np.eye(len(score.classes))[score.truth]) ** 2, axis=2)))
