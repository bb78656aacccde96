"""Methods: the rivals of `refine`, each with its interface."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from manifuse.errors import InputError, demand
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.labelled import score_of
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.rivals.imputation import LEAST_TO_LEARN, features_of, imputed_column
from manifuse.rivals.of_classes import (
    ImputedClasses,
    imputed_logarithms,
    learned_classes,
    logarithms_of,
    mean_of_classes,
    spread_classes,
)
from manifuse.rivals.own_graph import self_smoothing, spread_labels
from manifuse.rivals.own_labels import own_labels
from manifuse.run.refine import seed_of
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse.tables.table_checks import demand_rows

Seed = np.random.Generator | int | None
Labels = RankLabels | ClassLabels

#: Scores that have a label for each row.
RowScore = GradedRanking | SquaredError | LogLoss

#: From ``main``, ``references``, ``labels`` and ``rng`` to predictions for the main rows.
Rival = Callable[..., Any]

#: Leaving one labelled row out chooses one of these penalties of a ridge regression.
PENALTIES = tuple(float(value) for value in np.logspace(-2, 5, 8))


def smooth_alone(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: Seed = 0
) -> Any:
    """Smooth the scores over the graph of the own features; the labels choose how much. References are not used.

    Parameters
    ----------
    main : Observations
        With features.
    references : sequence of Observations
    labels : RankLabels
    rng : numpy.random.Generator or int, optional
        As of `refine`.

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
    _demand_features(main)
    if main.classes is not None:
        raise InputError(
            f"{main.name} has probabilities of classes, but this rival takes one score a row; for classes there are "
            "`refine`, and `summary`, `to_frame`, `write_report` and `explain` of its result."
        )
    predictions, _ = self_smoothing(main, _score(main, labels), np.random.default_rng(seed_for(rng)))
    return main.like_predictions(predictions)


def learn_from_labels(
    main: Observations,
    references: Sequence[Observations] = (),
    labels: Labels | None = None,
    rng: Seed = 0,
    *,
    regression: bool = False,
) -> Any:
    """Learn the labels from own features and own scores. References are not used.

    A new model on top of the scores: kernel ridge regression, or for classes logistic regression on their logarithms.
    The model that made the scores is not trained again. Labels are values to predict if ``regression`` is true; see
    `smooth_alone` for other parameters.
    """
    _demand_features(main)
    score = taught_by(main, labels, regression=regression)
    if isinstance(score, LogLoss):
        return main.like_container(learned_classes(np.column_stack([logarithms_of(main), features_of(main)]), score))
    generator = np.random.default_rng(seed_for(rng))
    return main.like_container(own_labels(main, score.rows, score.truth, generator, regression=regression)[0])


def spread(
    main: Observations, references: Sequence[Observations] = (), labels: Labels | None = None, rng: Seed = 0
) -> Any:
    """Spread the labels over the graph of the own features (scikit-learn's `LabelSpreading`).

    Neither scores nor references are used; see `smooth_alone` for parameters.
    """
    _demand_features(main)
    score = taught_by(main, labels)
    if isinstance(score, LogLoss):
        return main.like_container(spread_classes(main, score))
    assert isinstance(score, GradedRanking), "it is no regression"
    return main.like_container(spread_labels(main, score.rows, score.truth, seed_for(rng))[0])


def impute_and_average(
    main: Observations, references: Sequence[Observations] = (), labels: Labels | None = None, rng: Seed = 0
) -> Any:
    """Learn each reference's scores from own features at the pairs, predict them everywhere, and average all scores.

    Of classes, logarithms of probabilities are learned and averaged. Classes that a reference lacks keep their own
    probability. References with other classes, or scores, cannot be averaged and are left out. Labels are not used;
    see `smooth_alone` for parameters.
    """
    averaged = averaged_scores(imputed_scores(main, references, seed_for(rng)))
    return main.like_container(averaged)


def impute_and_stack(
    main: Observations, references: Sequence[Observations] = (), labels: Labels | None = None, rng: Seed = 0
) -> Any:
    """Impute the references as `impute_and_average` does, and stack all scores on the labels by a linear model.

    It is a ridge regression, and for classes a logistic one, which takes references with other classes, or scores,
    too. References known on all main rows are taken as they are, without features; see `smooth_alone` for parameters.
    """
    imputed = imputed_scores(main, references, seed_for(rng))
    return main.like_container(stacked_scores(main, imputed, labels))


def averaged_scores(imputed: FloatArray | ImputedClasses) -> FloatArray:
    """Average imputed scores (n, m + 1), or classes."""
    return mean_of_classes(imputed.alike) if isinstance(imputed, ImputedClasses) else mean_of_scores(imputed)


def stacked_scores(main: Observations, imputed: FloatArray | ImputedClasses, labels: Labels | None) -> FloatArray:
    """Stack imputed scores (n, m + 1), or classes, on the labels."""
    score = taught_by(main, labels)
    if isinstance(imputed, ImputedClasses):
        assert isinstance(score, LogLoss), "labels are classes"
        return learned_classes(np.column_stack([*imputed.alike, imputed.others]), score)
    assert isinstance(score, GradedRanking), "it is no regression"
    return stack_by_ridge(imputed, score.rows, score.truth)[0]


def mean_of_scores(scores: FloatArray) -> FloatArray:
    """Mean of the standardised columns of ``scores`` (n, m + 1), shape (n,)."""
    return np.asarray(standardise(scores).mean(axis=1))


def stack_by_ridge(scores: FloatArray, rows: IndexArray, labels: FloatArray) -> tuple[FloatArray, dict[str, object]]:
    """Learn a ridge regression of the grades on the scores, its penalty by leave-one-out on the labelled rows."""
    table = standardise(scores)
    ridge = RidgeCV(alphas=PENALTIES).fit(table[rows], labels)
    return np.asarray(ridge.predict(table)), {"penalty": float(ridge.alpha_)}


def seed_for(rng: Seed) -> int:
    """A seed that scikit-learn takes."""
    return seed_of(rng) % 2**32


def imputed_scores(main: Observations, references: Sequence[Observations], seed: int) -> FloatArray | ImputedClasses:
    """Scores of the main predictor and of every reference on all main rows, (n, m + 1), known ones as they are."""
    demand(Observations, main, *references)
    if not references:
        raise InputError("No references came, but this rival needs their scores; give some.")
    if main.classes is not None:
        return imputed_logarithms(main, references, seed)
    problem = Problem.of(main, tuple(references))
    columns = [imputed_column(main, each.name, each.main_rows, each.paired, seed) for each in problem.references]
    return np.column_stack([main.scores, *columns])


def _score(main: Observations, labels: Labels | None, *, regression: bool = False) -> Score:
    demand_rows(main)
    if labels is None:
        raise InputError("No labels came, but this rival learns from them; give labels.")
    return score_of(labels, main, regression=regression)


def taught_by(
    main: Observations,
    labels: Labels | None,
    use: str = "this rival learns from",
    *,
    least: int = LEAST_TO_LEARN,
    regression: bool = False,
) -> RowScore:
    """The rows with labels, and these; refuse ordered pairs and fewer labels than ``least``."""
    score = _score(main, labels, regression=regression)
    if not isinstance(score, RowScore):
        raise InputError(f"Ordered pairs came, but {use} a label for each row; give ids and labels.")
    if len(score.rows) < least:
        raise InputError(f"{many(len(score.rows), 'label')} came, but {use} at least {least}; give more.")
    return score


def _demand_features(main: Observations) -> None:
    demand(Observations, main)
    features_of(main)
