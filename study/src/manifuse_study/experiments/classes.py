"""Refine classifiers: methods, and what test rows say of their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special
from sklearn.neighbors import kneighbors_graph

from manifuse import rivals
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.labelled import score_of
from manifuse.kernels.arrays import FloatArray
from manifuse.rivals.imputation import features_of
from manifuse.rivals.of_classes import LEAST
from manifuse.run.refine import refine
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.scales import Scale
from manifuse_study.datasets.classifiers import Classifiers

#: Bins of the calibration error.
BINS = 15

#: Neighbours, share and steps of correct and smooth (Huang et al. 2021).
NEIGHBOURS, SHARE, STEPS = 10, 0.8, 50

#: A method: from a problem to probabilities of all main rows.
Solve = Callable[[Classifiers], FloatArray]


def measures_of(problem: Classifiers, probabilities: FloatArray) -> tuple[float, dict[str, float]]:
    """Accuracy on test rows; log loss, Brier score and calibration error there."""
    assert problem.main.classes is not None, "there are classes"
    found = probabilities[problem.test]
    places = problem.main.classes.places_of(problem.truth[problem.test])
    truth = np.where(places[:, None] >= 0, np.eye(found.shape[1])[np.maximum(places, 0)], 0.0)
    right = found.argmax(axis=1) == places
    said = np.where(places >= 0, found[np.arange(len(places)), np.maximum(places, 0)], 0.0)
    return float(right.mean()), {
        "log_loss": round(float(-np.log(np.maximum(said, LEAST)).mean()), 6),
        "brier": round(float(((found - truth) ** 2).sum(axis=1).mean()), 6),
        "calibration": round(calibration_error(found.max(axis=1), right.astype(float)), 6),
    }


def calibration_error(said: FloatArray, right: FloatArray) -> float:
    """Expected calibration error: how far what is said (t,) is from how often it is right, over bins of [0, 1]."""
    bins = np.minimum((said * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, said - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(said))


def facts_of(problem: Classifiers) -> dict[str, Any]:
    """What a problem is, as plain values."""
    return {
        "references": len(problem.references),
        "pairs": len(problem.pairs),
        "labels": 0 if problem.labels is None else len(problem.labels.keys),
        "coarse": problem.coarse,
    }


def refined(
    main: Observations,
    references: Sequence[Observations],
    labels: ClassLabels | RankLabels | None = None,
    **hyperparameters: Any,
) -> FloatArray:
    """Refined probabilities (n, k), or scores (n,), of the main rows."""
    return np.asarray(refine(main, references, labels, rng=0, **hyperparameters).predictions)


def _told(problem: Classifiers) -> FloatArray:
    """Labels at all pairs, in place of references."""
    given = {} if problem.labels is None else dict(zip(problem.labels.keys, problem.labels.names, strict=True))
    told = dict(zip(problem.main.keys[problem.pairs], problem.truth[problem.pairs], strict=True)) | given
    return refined(problem.main, [], ClassLabels([*told], [*told.values()]))


def labelled(problem: Classifiers) -> LogLoss:
    """The rows with a label, and their classes."""
    assert problem.labels is not None, "there are labels"
    score = score_of(problem.labels, problem.main, regression=False)
    assert isinstance(score, LogLoss), "there are classes"
    return score


def rival(name: str) -> Callable[[Any], FloatArray]:
    """A rival of the product as a method."""
    predict = getattr(rivals, name)
    return lambda problem: np.asarray(predict(problem.main, problem.references, problem.labels, 0))


def _correct_and_smooth(problem: Classifiers) -> FloatArray:
    """Spread the errors at labelled rows over the graph, correct by them, then spread what comes of it."""
    score = labelled(problem)
    rows, places = score.rows, score.truth
    graph = kneighbors_graph(features_of(problem.main), NEIGHBOURS)
    graph = graph.maximum(graph.T)
    roots = 1.0 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    matrix = graph.multiply(roots[:, None]).multiply(roots[None]).tocsr()
    truth = np.eye(problem.main.came.shape[1])[places]

    def spread(start: FloatArray, fixed: FloatArray | None) -> FloatArray:
        values = start
        for _ in range(STEPS):
            values = (1.0 - SHARE) * start + SHARE * (matrix @ values)
            if fixed is not None:
                values[rows] = fixed
        return values

    errors = np.zeros_like(problem.main.came)
    errors[rows] = truth - problem.main.came[rows]
    corrected = problem.main.came + spread(errors, errors[rows])
    corrected[rows] = truth
    smoothed = np.maximum(spread(corrected, None), LEAST)
    return np.asarray(smoothed / smoothed.sum(axis=1, keepdims=True))


def _one_against_the_rest(problem: Classifiers) -> FloatArray:
    """Refine the log-odds of each class by themselves, as it was possible before."""
    assert problem.main.classes is not None, "there are classes"
    odds = []
    for name in problem.main.classes.names:
        main, *others = (
            Observations(
                each.came[:, each.classes.names.index(name)],
                each.table,
                ids=each.keys,
                name=each.name,
                scale="probability",
            )
            for each in (problem.main, *problem.references)
            if each.classes is not None and name in each.classes.names
        )
        labels = None
        if problem.labels is not None:
            right = (problem.labels.names == name).astype(float)
            labels = RankLabels(problem.labels.keys, right) if 0 < right.sum() < len(right) else None
        if np.ptp(main.scores) == 0 or (labels is None and not others):
            odds.append(main.scores)
            continue
        odds.append(refine(main, others, labels, rng=0, same_target=True).scores)
    found = np.maximum(special.expit(np.column_stack(odds)), LEAST)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


#: Every method by its name: what it does, and the attribute of a problem that it needs, if any.
METHODS: Mapping[str, tuple[Solve, str]] = {
    "alone": (lambda problem: problem.main.came, ""),
    "refined": (lambda problem: refined(problem.main, problem.references, problem.labels), "labels"),
    "refined, no labels": (lambda problem: refined(problem.main, problem.references), ""),
    "refined, no references": (lambda problem: refined(problem.main, [], problem.labels), "labels"),
    "impute and average": (rival("impute_and_average"), ""),
    "impute and stack": (rival("impute_and_stack"), "labels"),
    "own labels": (rival("learn_from_labels"), "labels"),
    "label spreading": (rival("spread"), "labels"),
    "correct and smooth": (_correct_and_smooth, "labels"),
    "one against the rest": (_one_against_the_rest, ""),
    "truth told at the pairs": (_told, ""),
    "coupled oracle": (
        lambda problem: refined(problem.main, problem.everywhere, problem.labels, safeguarded=False),
        "everywhere",
    ),
}


def _risks(problem: Classifiers, scale: Scale) -> FloatArray:
    """Refine how probable the second of two classes is, as one score a row."""
    main, *others = (
        Observations(
            each.came[:, 1] if scale == "probability" else each.scores[:, 0],
            each.table,
            ids=each.keys,
            name=each.name,
            scale=scale,
        )
        for each in (problem.main, *problem.references)
    )
    assert problem.labels is not None, "there are labels"
    assert problem.main.classes is not None, "there are classes"
    right = (problem.labels.names == problem.main.classes.names[1]).astype(float)
    found = refine(main, others, RankLabels(problem.labels.keys, right), rng=0).predictions
    found = np.asarray(found if scale == "probability" else special.expit(found))
    return np.column_stack([1.0 - found, found])


#: Methods on risks, which are problems of two classes, by their names.
METHODS_ON_RISKS: Mapping[str, tuple[Solve, str]] = {
    "alone": METHODS["alone"],
    "refined": (lambda problem: _risks(problem, "probability"), "labels"),
    "refined, not calibrated": (lambda problem: _risks(problem, "score"), "labels"),
    "refined, as two classes": METHODS["refined"],
}

#: Methods that know more than a user has.
ORACLES = ("truth told at the pairs", "coupled oracle")
