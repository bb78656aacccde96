"""Rivals: what else one can do with the same tables, with one interface, so that you can compare on your own data.

Each takes ``main``, ``references`` and ``labels`` as `refine` does, and returns predictions for the main rows. The
result tables of the documentation compare the same functions. Larger predictions are better in all of them; compare
their order, as their units differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.errors import InputError
from manifuse.evidence.score import GradedRanking, Score, score_of
from manifuse.kernels.arrays import FloatArray
from manifuse.study.baselines.imputation import impute
from manifuse.study.baselines.own_labels import own_labels
from manifuse.study.baselines.smoothing import self_smoothing
from manifuse.study.baselines.spreading import spread_labels
from manifuse.study.baselines.stacking import mean_of_scores, stack_by_ranksvm

__all__ = ["impute_and_average", "impute_and_stack", "learn_from_labels", "smooth_alone", "spread"]


def smooth_alone(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: int = 0
) -> Any:
    """Smooth the scores over the graph of the own features; the labels choose how much. References are not used.

    Parameters
    ----------
    main : Observations
        With features.
    references : sequence of Observations
    labels : RankLabels
    rng : int
        For the neighbour search.

    Returns
    -------
    (n,) array, series or tensor
        In the library of the main predictions.

    Raises
    ------
    InputError
        If there are no labels or no features.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics(labels=50)
    >>> given = clinics.main, clinics.references, clinics.labels
    >>> clinics.accuracy(mf.rivals.smooth_alone(*given)) > clinics.accuracy(clinics.main.scores)
    True
    """
    del references
    predictions, _ = self_smoothing(main, _score(main, labels), np.random.default_rng(rng))
    return main.like_predictions(predictions)


def learn_from_labels(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: int = 0
) -> Any:
    """Learn the labels from own features and own scores by kernel ridge regression. References are not used.

    This is what a user who retrains on the labels would do; see `smooth_alone` for parameters.
    """
    del references
    score = _grades(main, labels)
    predictions, _ = own_labels(main, score.rows, score.grades, np.random.default_rng(rng))
    return main.like_predictions(predictions)


def spread(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: int = 0
) -> Any:
    """Spread the labels over the graph of the own features (scikit-learn's `LabelSpreading`).

    Neither scores nor references are used; see `smooth_alone` for parameters.
    """
    del references
    score = _grades(main, labels)
    return main.like_predictions(spread_labels(main, score.rows, score.grades, rng)[0])


def impute_and_average(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: int = 0
) -> Any:
    """Learn each reference's scores from own features at the pairs, predict them everywhere, and average all scores.

    Labels are not used; see `smooth_alone` for parameters.
    """
    del labels
    return main.like_predictions(mean_of_scores(_imputed(main, references, rng)))


def impute_and_stack(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: int = 0
) -> Any:
    """Impute the references as `impute_and_average` does, and stack all scores on the labels by a linear RankSVM.

    See `smooth_alone` for parameters.
    """
    score = _grades(main, labels)
    predictions, _ = stack_by_ranksvm(_imputed(main, references, rng), score.rows, score.grades, rng)
    return main.like_predictions(predictions)


def _imputed(main: Observations, references: Sequence[Observations], rng: int) -> FloatArray:
    """Scores of the main predictor and of every reference on all main rows, shape (n, m + 1)."""
    _demand_features(main)
    if not references:
        raise InputError("No references came, but this rival imputes their scores; give some.")
    imputed, _ = impute(Problem.of(main, tuple(references)), rng)
    return np.column_stack([main.scores, imputed])


def _score(main: Observations, labels: RankLabels | None) -> Score:
    if labels is None:
        raise InputError("No labels came, but this rival learns from them; give labels.")
    _demand_features(main)
    return score_of(labels, main, regression=False)


def _grades(main: Observations, labels: RankLabels | None) -> GradedRanking:
    score = _score(main, labels)
    if not isinstance(score, GradedRanking):
        raise InputError("Ordered pairs came, but this rival learns from a label for each row; give ids and labels.")
    return score


def _demand_features(main: Observations) -> None:
    if main.table is None:
        raise InputError(f"{main.name} has no features, but this rival needs them; give features.")
