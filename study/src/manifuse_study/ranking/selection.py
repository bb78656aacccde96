"""Ind: the best ranker per task by validation accuracy (section 3.2.1, A)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from sklearn.model_selection import KFold

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray
from manifuse_study.ranking.deep import DeepRanker
from manifuse_study.ranking.ranksvm import RankSVM

#: Penalties tried; the linear kernel's are in units of its mean diagonal.
PENALTIES = tuple(float(value) for value in np.logspace(-2, 3, 6))

#: Gaussian widths tried, in units of the mean squared distance of the training rows.
WIDTHS = (0.25, 0.5, 1.0, 2.0)

#: Weight decays of the deep ranker tried.
DECAYS = (1.0, 3.0)

#: Folds of the cross-validation of a ranker that is trained anew.
FOLDS = 5

Ranker = RankSVM | DeepRanker


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best ranker of one family, and its accuracy on the validation rows."""

    ranker: Ranker
    validation_accuracy: float

    def hyperparameters(self) -> dict[str, object]:
        """Hyperparameters chosen, by name."""
        if isinstance(self.ranker, RankSVM):
            return {"penalty": self.ranker.penalty, "width": self.ranker.width_}
        return {"decay": self.ranker.decay, "steps": self.ranker.steps_}


def select_ranker(
    train: tuple[FloatArray, FloatArray], validation: tuple[FloatArray, FloatArray], *, deep: bool = False
) -> dict[str, Candidate]:
    """Fit rankers of every family over a grid, and keep the one of each that is best on the validation rows.

    Parameters
    ----------
    train, validation : pair of arrays
        Features (l, d) and graded labels (l,). Features should be standardised.
    deep : bool
        Whether the deep ranker competes; it needs torch.

    Returns
    -------
    dict of str to Candidate
        By the name of the family: ``"linear"``, ``"gaussian"`` and, on request, ``"deep"``.
    """
    X, y = train
    diagonal = float(np.mean(np.sum(X**2, axis=1)))
    mean_distance = float(2.0 * X.var(axis=0).sum())
    families: dict[str, list[Ranker]] = {
        "linear": [RankSVM("linear", penalty=penalty * diagonal).fit(X, y) for penalty in PENALTIES],
        "gaussian": [
            RankSVM("gaussian", penalty=penalty, width=width * mean_distance).fit(X, y)
            for width, penalty in product(WIDTHS, PENALTIES)
        ],
    }
    if deep:
        families["deep"] = [DeepRanker(decay=decay).fit(X, y, validation) for decay in DECAYS]
    return {name: _best(rankers, validation) for name, rankers in families.items()}


def retrain(
    families: Mapping[str, Candidate], X: FloatArray, y: FloatArray, seed: int
) -> tuple[RankSVM, dict[str, object]]:
    """Train a ranker anew on more rows.

    Parameters
    ----------
    families : mapping of str to Candidate
        From `select_ranker`; their kernels and widths are kept, and the deep ranker is left out.
    X : (l, d) array
        Features, standardised.
    y : (l,) array
        Graded labels.
    seed : int
        Draws the folds of the cross-validation that chooses the family and the penalty.

    Returns
    -------
    ranker : RankSVM
    hyperparameters : dict
    """
    diagonal = float(np.mean(np.sum(X**2, axis=1)))
    tried = [
        RankSVM(known.kernel, penalty=penalty * (diagonal if known.kernel == "linear" else 1.0), width=known.width_)
        for known in (candidate.ranker for candidate in families.values())
        if isinstance(known, RankSVM)
        for penalty in PENALTIES
    ]
    accuracies = np.zeros(len(tried))
    for train, held_out in KFold(FOLDS, shuffle=True, random_state=seed).split(X):
        for index, ranker in enumerate(tried):
            predicted = ranker.fit(X[train], y[train]).predict(X[held_out])
            accuracies[index] += ranking_accuracy(y[held_out], predicted) / FOLDS
    best = tried[int(np.argmax(accuracies))].fit(X, y)
    return best, {"ranker": best.kernel, "penalty": best.penalty, "width": best.width_}


def best_family(families: Mapping[str, Candidate]) -> str:
    """Return the name of the family with the best validation accuracy, the first of equals."""
    return max(families, key=lambda name: families[name].validation_accuracy)


def _best(rankers: Sequence[Ranker], validation: tuple[FloatArray, FloatArray]) -> Candidate:
    accuracies = [ranking_accuracy(validation[1], ranker.predict(validation[0])) for ranker in rankers]
    best = int(np.argmax(accuracies))
    return Candidate(rankers[best], accuracies[best])
