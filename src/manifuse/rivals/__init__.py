"""Rivals: what else one can do with the same tables, with one interface, so that you can compare on your own data.

Each takes ``main``, ``references`` and ``labels`` as `refine` does, and returns predictions for the main rows. Larger
predictions are better in all of them; compare their order, as their units differ.

The result tables of the documentation compare the same functions, under the names self-smoothing, own labels, label
spreading, and impute and average. Only `impute_and_stack` is another there: the tables stack by a linear RankSVM, and
this one by a ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import KFold

from manifuse.errors import InputError, demand
from manifuse.evidence.labelled import score_of
from manifuse.evidence.score import GradedRanking, Score
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray
from manifuse.machine import libraries_in_one_thread
from manifuse.rivals.combining import mean_of_scores, stack_by_ridge
from manifuse.rivals.imputation import FOLDS, impute
from manifuse.rivals.own_labels import own_labels
from manifuse.rivals.smoothing import self_smoothing
from manifuse.rivals.spreading import spread_labels
from manifuse.run.refine import refine, seed_of
from manifuse.tables.containers import frame_of, to_floats
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse.tables.user_tables import FrameColumns
from manifuse.tables.validity import demand_rows, demand_scores

#: With fewer labels a fold says nothing.
LEAST_LABELS = 50

Seed = np.random.Generator | int | None

#: From ``main``, ``references``, ``labels`` and ``rng`` to predictions for the main rows.
Rival = Callable[..., Any]

__all__ = ["compare", "impute_and_average", "impute_and_stack", "learn_from_labels", "smooth_alone", "spread"]


def compare(
    main: Any,
    references: Any,
    labels: Any,
    rng: Seed = 0,
    *,
    id: str = "id",  # noqa: A002
    score: str = "score",
    label: str = "label",
    drop: Sequence[str] = (),
    others: Mapping[str, Rival] = MappingProxyType({}),
    library: Any = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Any:
    """Compare `refine` with its rivals on your own labels, by cross-validation.

    Every fifth of the labels in turn is held out, and judges what each method makes of the others. Held-out rows of
    all fifths are compared with each other, by their ranks among all rows.

    Parameters
    ----------
    main : Observations or data frame
        With features.
    references : Observations or data frame, or sequence of these
        Without any, rivals that need references are left out.
    labels : RankLabels or data frame
        A label for each of at least 50 rows.
    rng : numpy.random.Generator or int, optional
        Draws the folds, and is the ``rng`` of every method.
    id, score, label, drop
        Columns of data frames, as of `refine`.
    others : mapping of str to callable, optional
        Methods of your own by their names, such as your model trained again:
        ``method(main, references, labels, rng)`` returns predictions (n,) for all main rows. It must not use other
        labels than those that it is given.
    library : module, optional
        As of `Refinement.to_frame`.
    tell : callable, optional
        Is given how many times a method was fitted, and how many times one will be.

    Returns
    -------
    data frame
        A row for each method, the best first: ``method``; ``accuracy``, the ranking accuracy on held-out labels in
        [0, 1]; ``minus_refine``, the same minus that of `refine`; and the ``standard_error`` of this difference,
        paired over the held-out rows. It leaves out what other labels to learn from would change. Methods whose
        difference is within two standard errors cannot be told apart.

    Raises
    ------
    InputError
        If there are fewer than 50 labels, they are ordered pairs, or all labels of a fold are equal; or if a method of
        yours has the name of another, or does not return a finite prediction for each main row.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics(labels=50)
    >>> found = mf.rivals.compare(clinics.main, [], clinics.labels)
    >>> found.columns, len(found)
    (['method', 'accuracy', 'minus_refine', 'standard_error'], 5)
    """
    demand(Mapping, others)
    main, references, labels = FrameColumns(id, score, label=label, drop=drop).read(main, references, labels)
    measure, seed = _grades(main, labels, "comparing needs"), _seed(rng)
    if len(measure.rows) < LEAST_LABELS:
        raise InputError(
            f"{many(len(measure.rows), 'label')} came, but comparing needs at least {LEAST_LABELS}; give more."
        )
    methods = _methods(others, with_references=bool(len(references)))
    places = {name: np.empty(len(measure.rows)) for name in methods}
    for fold, (train, test) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(measure.rows)):
        if len(np.unique(measure.grades[test])) < 2 or len(np.unique(measure.grades[train])) < 2:
            raise InputError("All labels of a fold are equal; give more labels of each value.")
        known = RankLabels(main.keys[measure.rows[train]], measure.grades[train])
        for done, (name, method) in enumerate(methods.items(), fold * len(methods) + 1):
            with libraries_in_one_thread():
                made = method(main, references, known, seed)
            predictions = to_floats(made, what=f"What {name!r} returned", dimensions=1)
            if predictions.shape != main.scores.shape or not np.isfinite(predictions).all():
                raise InputError(f"{name!r} must return a finite prediction for each of {len(main)} main rows.")
            places[name][test] = rankdata(predictions)[measure.rows[test]]
            tell(done, FOLDS * len(methods))
    gains = {name: measure.gain(places["refine"], each) for name, each in places.items()}
    names = sorted(gains, key=lambda name: -gains[name].value)
    return frame_of(
        {
            "method": names,
            "accuracy": [measure.measured(places[name]) for name in names],
            "minus_refine": [gains[name].value for name in names],
            "standard_error": [gains[name].standard_error for name in names],
        },
        library or main.origin.frames,
    )


def _methods(others: Mapping[str, Rival], *, with_references: bool) -> dict[str, Rival]:
    """All methods by their names; those that need references only with references."""
    methods: dict[str, Rival] = {
        "refine": _refine,
        "alone": lambda main, *_: main.scores,
        "smooth_alone": smooth_alone,
        "spread": spread,
        "learn_from_labels": learn_from_labels,
    }
    if with_references:
        methods |= {"impute_and_average": impute_and_average, "impute_and_stack": impute_and_stack}
    taken = [name for name in others if name in methods]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of another method; give yours another name.")
    return {**methods, **others}


def _refine(main: Observations, references: Sequence[Observations], labels: RankLabels, seed: int) -> FloatArray:
    return refine(main, references, labels, rng=seed).scores


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
    del references
    _demand_features(main)
    predictions, _ = self_smoothing(main, _score(main, labels), np.random.default_rng(_seed(rng)))
    return main.like_predictions(predictions)


def learn_from_labels(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: Seed = 0
) -> Any:
    """Learn the labels from own features and own scores by kernel ridge regression. References are not used.

    A new model on top of the scores; the model that made the scores is not trained again. See `smooth_alone` for
    parameters.
    """
    del references
    _demand_features(main)
    score = _grades(main, labels)
    predictions, _ = own_labels(main, score.rows, score.grades, np.random.default_rng(_seed(rng)))
    return main.like_container(predictions)


def spread(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: Seed = 0
) -> Any:
    """Spread the labels over the graph of the own features (scikit-learn's `LabelSpreading`).

    Neither scores nor references are used; see `smooth_alone` for parameters.
    """
    del references
    _demand_features(main)
    score = _grades(main, labels)
    return main.like_container(spread_labels(main, score.rows, score.grades, _seed(rng))[0])


def impute_and_average(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: Seed = 0
) -> Any:
    """Learn each reference's scores from own features at the pairs, predict them everywhere, and average all scores.

    Labels are not used; see `smooth_alone` for parameters.
    """
    del labels
    return main.like_container(mean_of_scores(_imputed(main, references, _seed(rng))))


def impute_and_stack(
    main: Observations, references: Sequence[Observations] = (), labels: RankLabels | None = None, rng: Seed = 0
) -> Any:
    """Impute the references as `impute_and_average` does, and stack all scores on the labels by a ridge regression.

    References known on all main rows are taken as they are, without features; see `smooth_alone` for parameters.
    """
    score = _grades(main, labels)
    predictions, _ = stack_by_ridge(_imputed(main, references, _seed(rng)), score.rows, score.grades)
    return main.like_container(predictions)


def _seed(rng: Seed) -> int:
    """A seed that scikit-learn takes."""
    return seed_of(rng) % 2**32


def _imputed(main: Observations, references: Sequence[Observations], seed: int) -> FloatArray:
    """Scores of the main predictor and of every reference on all main rows, shape (n, m + 1), if known as they are."""
    _demand_scores(main, *references)
    if not references:
        raise InputError("No references came, but this rival needs their scores; give some.")
    problem = Problem.of(main, tuple(references))
    columns = np.full((len(main), len(references)), np.nan)
    for column, reference in zip(columns.T, problem.references, strict=True):
        column[reference.main_rows] = reference.paired
    partial = np.flatnonzero(np.isnan(columns).any(axis=0))
    if len(partial):
        unknown = tuple(problem.references[number] for number in partial)
        least = min(len(reference.main_rows) for reference in unknown)
        if least < 2 * FOLDS:
            raise InputError(f"{least} pairs came, but this rival learns from at least {2 * FOLDS}; give more.")
        columns[:, partial] = impute(replace(problem, references=unknown), seed)[0]
    return np.column_stack([main.scores, columns])


def _score(main: Observations, labels: RankLabels | None) -> Score:
    _demand_scores(main)
    if labels is None:
        raise InputError("No labels came, but this rival learns from them; give labels.")
    return score_of(labels, main, regression=False)


def _grades(main: Observations, labels: RankLabels | None, use: str = "this rival learns from") -> GradedRanking:
    score = _score(main, labels)
    if not isinstance(score, GradedRanking):
        raise InputError(f"Ordered pairs came, but {use} a label for each row; give ids and labels.")
    if len(score.rows) < 2 * FOLDS:
        raise InputError(
            f"{many(len(score.rows), 'label')} came, but this rival learns from at least {2 * FOLDS}; give more."
        )
    return score


def _demand_features(main: Observations) -> None:
    _demand_scores(main)
    if main.table is None:
        raise InputError(f"{main.name} has no features, but this rival needs them; give features.")


def _demand_scores(main: Observations, *references: Observations) -> None:
    """Refuse anything but tables, and a main table of classes."""
    demand(Observations, main, *references)
    demand_rows(main, *references)
    demand_scores(main, "this rival takes")
