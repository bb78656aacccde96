"""Rivals of class probabilities, each in a few lines, as a user would write them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from manifuse.evidence.class_score import LogLoss
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.rivals.imputation import features_of, imputed_column
from manifuse.tables.observations import Observations

#: Probabilities below this are taken as this, so that logarithms are finite.
LEAST = 1e-4

#: Neighbours of a row in the graph over which labels are spread, and how often they are at most.
NEIGHBOURS, ITERATIONS = 10, 200


def logarithms_of(table: Observations) -> FloatArray:
    """Logarithms of the probabilities of a table of classes (n, k)."""
    return np.asarray(np.log(np.maximum(table.in_scale(table.scores), LEAST)))


class ImputedClasses(NamedTuple):
    """What all predictors say of all main rows.

    Attributes
    ----------
    alike : (m + 1, n, k) array
        Logarithms of probabilities: of the main predictor, and of the m references with the same classes or some of
        them.
    others : (n, t) array
        Scores, or logarithms of probabilities of other classes, of the other references.
    """

    alike: FloatArray
    others: FloatArray


def imputed_logarithms(main: Observations, references: Sequence[Observations], seed: int) -> ImputedClasses:
    """Impute references beside a main table of classes.

    A reference is known at its pairs. Elsewhere it is predicted from the main features by `searched_regressor`.

    Raises
    ------
    InputError
        If a reference shares too few rows, or features are needed that there are not.
    """
    assert main.classes is not None, "it has classes"
    alike: list[FloatArray] = [logarithms_of(main)]
    others: list[FloatArray] = [np.empty((len(main), 0))]
    for reference in references:
        theirs, known = locate(main.keys, reference.keys)
        rows = np.flatnonzero(known)
        said = reference.scores[:, None] if reference.classes is None else logarithms_of(reference)
        column = imputed_column(main, reference.name, rows, said[theirs[rows]], seed)
        if reference.classes is None or (main.classes.places_of(reference.classes.names) < 0).any():
            others.append(column)
        else:
            alike.append(_completed(column, reference.classes.places_of(main.classes.names), alike[0]))
    return ImputedClasses(np.stack(alike), np.concatenate(others, axis=1))


def _completed(said: FloatArray, places: IndexArray, own: FloatArray) -> FloatArray:
    """Logarithms of probabilities (n, k') in the order of all classes (n, k); those that lack keep their ``own`` ones.

    Of each class, the place among those k' is given, -1 if it lacks.
    """
    if (places >= 0).all():
        return said[:, places]
    left = np.log1p(-np.exp(own[:, places < 0]).sum(axis=1, keepdims=True).clip(max=1.0 - LEAST))
    return np.where(places < 0, own, log_softmax(said, axis=1)[:, places] + left)


def mean_of_classes(imputed: FloatArray) -> FloatArray:
    """Probabilities (n, k) by the mean of their logarithms (m + 1, n, k)."""
    return np.asarray(softmax(np.mean(imputed, axis=0), axis=1))


def learned_classes(table: FloatArray, score: LogLoss) -> FloatArray:
    """Learn the classes of labelled rows from a table (n, t) by logistic regression; probabilities (n, k)."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(table[score.rows], score.truth)
    return _of_all(model.predict_proba(table), model.classes_, len(score.classes))


def spread_classes(main: Observations, score: LogLoss) -> FloatArray:
    """Spread the classes of labelled rows over the graph of the own features; probabilities (n, k)."""
    targets = np.full(len(main), -1)
    targets[score.rows] = score.truth
    neighbours = min(NEIGHBOURS, len(main) - 1)
    model = LabelSpreading(kernel="knn", n_neighbors=neighbours, max_iter=ITERATIONS).fit(features_of(main), targets)
    return _of_all(np.nan_to_num(model.label_distributions_), model.classes_, len(score.classes))


def _of_all(probabilities: FloatArray, places: IndexArray, classes: int) -> FloatArray:
    """Probabilities of all classes (n, k), of which a model may know only some."""
    found = np.full((len(probabilities), classes), LEAST)
    found[:, places] = np.maximum(probabilities, LEAST)
    return np.asarray(found / found.sum(axis=1, keepdims=True))
