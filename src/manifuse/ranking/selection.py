"""Ind: the best ranker per task by validation accuracy (section 3.2.1, A)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.ranking.accuracy import ranking_accuracy
from manifuse.ranking.ranksvm import RankSVM

#: Penalties tried; the linear kernel's are in units of its mean diagonal.
PENALTIES = tuple(float(value) for value in np.logspace(-2, 3, 6))

#: Gaussian widths tried, in units of the mean squared distance of the training rows.
WIDTHS = (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Selected:
    """The ranker chosen, and its accuracy on the validation rows."""

    ranker: RankSVM
    validation_accuracy: float


def select_ranker(train: tuple[FloatArray, FloatArray], validation: tuple[FloatArray, FloatArray]) -> Selected:
    """Fit linear and Gaussian RankSVMs over a grid, and keep the best on the validation rows.

    Parameters
    ----------
    train, validation : pair of arrays
        Features (l, d) and graded labels (l,). Features should be standardised.

    Returns
    -------
    Selected
        The first of equals.
    """
    X, y = train
    diagonal = float(np.mean(np.sum(X**2, axis=1)))
    spread = float(2.0 * X.var(axis=0).sum())
    candidates = [RankSVM("linear", penalty=penalty * diagonal) for penalty in PENALTIES]
    candidates += [
        RankSVM("gaussian", penalty=penalty, width=width * spread) for width, penalty in product(WIDTHS, PENALTIES)
    ]
    fitted = [ranker.fit(X, y) for ranker in candidates]
    accuracies = [ranking_accuracy(validation[1], ranker.predict(validation[0])) for ranker in fitted]
    best = int(np.argmax(accuracies))
    return Selected(fitted[best], accuracies[best])
