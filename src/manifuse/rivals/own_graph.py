"""Own graph: scores smoothed over the main predictor's own graph, or labels spread over it, without any reference.

Every table of results needs self-smoothing as a control: what the method gains over it is what the references are
worth. Label spreading is scikit-learn's `LabelSpreading`, without scores; a row's score is its expected grade.
"""

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.semi_supervised import LabelSpreading

from manifuse.backends.graph import FeatureGraph
from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import standardise
from manifuse.records import write
from manifuse.tables.level import Level
from manifuse.tables.observations import Observations

#: What the labels choose from: neighbours and, of smoothing, step sizes, prediction scales and the number of rounds.
NEIGHBOURS = (5, 10, 20)
STEPS = (1.0, 3.0, 10.0, 30.0)
SCALES = (0.1, 0.3, np.inf)
ROUNDS = 3

#: Of spreading, the share of a row's label that comes from its neighbours, by cross-validation on the labelled rows.
ALPHAS = (0.5, 0.8, 0.95, 0.99)
FOLDS, ITERATIONS = 5, 1000


def self_smoothing(main: Observations, score: Score, rng: np.random.Generator) -> tuple[FloatArray, dict[str, Any]]:
    """Smooth the scores of ``main`` over its own graph, all parameters chosen by the labels.

    Parameters
    ----------
    main : Observations
        With features.
    score : Score
        Chooses among 3 x 4 x 3 settings with one to three rounds, with standardised features and with features as
        they came.
    rng : numpy.random.Generator
        For the neighbour search.

    Returns
    -------
    predictions : (n,) array
        With the mean and the norm of the scores of ``main``.
    hyperparameters : dict
        Empty if no smoothing scores above the scores as they came.
    """
    start, units = standardise(main.scores), Level.of(main.scores)

    def height(scores: FloatArray) -> float:
        return float(score.evaluate(units.undo(scores)[score.rows, None])[0])

    best, chosen, highest = main.scores, {}, height(start)
    searched = [search(main, max(NEIGHBOURS), rng, standardised=standardised) for standardised in (True, False)]
    for table, count in product(searched, NEIGHBOURS):
        graph = Host().graph(table, count)
        for scale in SCALES:
            # All steps begin on the same graph, and share its products.
            for step, smoothed in zip(STEPS, _smooth(graph, start, scale, STEPS), strict=True):
                for rounds in range(1, ROUNDS + 1):
                    scores = _averages(smoothed)
                    reached = height(scores)
                    if reached > highest:
                        best, highest = units.undo(scores), reached
                        used = {"neighbours": count, "standardised": graph.standardised}
                        chosen = {**used, "step": step, "scale": write(scale), "rounds": rounds}
                    if rounds < ROUNDS:
                        (smoothed,) = _smooth(graph, scores, scale, [step])
    return best, chosen


def search(main: Observations, count: int, rng: np.random.Generator, *, standardised: bool = True) -> Neighbours:
    """Search the nearest rows of every row of ``main`` by its own features.

    Parameters
    ----------
    main : Observations
        With features.
    count : int
        Neighbours of every row.
    rng : numpy.random.Generator
        Draws the sample on which an approximate search is checked.
    standardised : bool
        Whether features are standardised first.
    """
    assert main.table is not None, "a rival that needs features demands them"
    return Host().search(main.table, Query(count, standardised, main.name), rng)


def _smooth(graph: FeatureGraph, scores: FloatArray, scale: float, steps: Sequence[float]) -> FloatArray:
    """Smooth standardised scores (n,) and a constant over the graph that they weigh, shape (steps, n, 2)."""
    return smooth(graph.affinity(scores, scale), np.column_stack([scores, np.ones(len(scores))]), steps)


def _averages(smoothed: FloatArray) -> FloatArray:
    """Divide smoothed scores by the smoothed constant (n, 2), and standardise, shape (n,)."""
    return standardise(smoothed[:, 0] / smoothed[:, 1])


def spread_labels(
    main: Observations, rows: IndexArray, labels: FloatArray, seed: int
) -> tuple[FloatArray, dict[str, object]]:
    """Spread the labels of some rows over the graph of ``main``, parameters by cross-validation on them.

    Parameters
    ----------
    main : Observations
        With features.
    rows : (l,) array of int
        Labelled rows.
    labels : (l,) array
    seed : int
        Draws the folds, and the sample on which an approximate neighbour search is checked.

    Returns
    -------
    predictions : (n,) array
    hyperparameters : dict
    """
    neighbours = search(main, max(NEIGHBOURS), np.random.default_rng(seed))
    # The weights must be in the order of the labels, however large the table is.
    host = Host(ordered_rows=len(main))
    affinities = {count: host.graph(neighbours, count).weights for count in NEIGHBOURS}
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(rows))

    def accuracy(cell: tuple[int, float]) -> float:
        count, alpha = cell
        predicted = np.empty(len(rows))
        for train, test in folds:
            predicted[test] = expected_grades(affinities[count], rows[train], labels[train], alpha)[rows[test]]
        return ranking_accuracy(labels, predicted)

    count, alpha = max(product(NEIGHBOURS, ALPHAS), key=accuracy)
    return expected_grades(affinities[count], rows, labels, alpha), {"neighbours": count, "alpha": alpha}


def expected_grades(affinity: Any, rows: IndexArray, labels: FloatArray, alpha: float) -> FloatArray:
    """Expected grade of every row, shape (n,); the labels' mean for rows that no label reaches.

    Parameters
    ----------
    affinity : (n, n) CSR array
    rows : (l,) array of int
    labels : (l,) array
    alpha : float
        In (0, 1).
    """
    n = affinity.shape[0]
    grades, targets = np.unique(labels), np.full(n, -1)
    targets[rows] = np.searchsorted(grades, labels)
    model = LabelSpreading(kernel=lambda *_: affinity, alpha=alpha, max_iter=ITERATIONS, tol=1e-4)
    with warnings.catch_warnings():
        # Grades may be as many as labels.
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        model.fit(np.arange(n)[:, None], targets)
    shares = np.nan_to_num(model.label_distributions_)
    return np.asarray(np.where(shares.sum(axis=1) > 0.5, shares @ grades, labels.mean()))
