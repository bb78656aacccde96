"""Payoff: when references pay, by the number of labels and of pairs.

A cell has so many labels and so many pairs of one split. Both are drawn from those of a protocol with many: fewer
labels are the first of the validation rows, and of the other pairs the references know nothing. The main table, its
rankers and the test rows are the same in all cells of a split.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from manifuse.evidence.labelled import score_of
from manifuse.grid import ABSENT, Grid
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.rivals.own_graph import self_smoothing
from manifuse.rivals.own_labels import own_labels
from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse.tables.labels import RankLabels
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.protocol import Protocol
from manifuse_study.experiments.provenance import data_digest
from manifuse_study.experiments.trial import Case, Rankers, Trained, Trial

#: The cells: labels by pairs, and the protocol that has the most of both.
LABELS, PAIRS = (0, 10, 20, 50, 100, 200), (30, 100, 200, 500)
PROTOCOL = Protocol("decoupled", pairs=max(PAIRS))

#: Experiments with what is measured: ranking accuracy, or the root mean squared error of a regression.
MAPS = (
    ("hw", "accuracy"),
    ("cal7", "accuracy"),
    ("osr-decoupled", "accuracy"),
    ("lipophilicity", "accuracy"),
    ("lipophilicity", "rmse"),
)

#: What makes a row one of its kind.
KEY = ("dataset", "measure", "seed", "labels", "pairs")

#: What a cell measures: the predictor alone, with references, without them, and the rivals that have none.
ALONE, OURS, WITHOUT = "alone", "JMD", "JMD, no references"
RIVALS = ("own labels", "self-smoothing")
METHODS = (ALONE, OURS, WITHOUT, *RIVALS)

#: The regressor of a partner, by cross-validation on the training rows; widths are in numbers of features.
PENALTIES, WIDTHS, FOLDS = (0.01, 0.1, 1.0), (0.3, 1.0, 3.0), 5


@dataclass(frozen=True)
class Payoff:
    """What references gain in a cell, in points, over trials; for an error, a hundredth of its unit is a point.

    Attributes
    ----------
    over_alone, over_rival, worth : float
        JMD less the predictor alone, less the best rival without references, and less JMD without references.
    rival : str
        The rival that is best in the mean over tasks and trials; empty without labels.
    trials : int
    """

    over_alone: float
    over_rival: float
    worth: float
    rival: str
    trials: int


def prepare_trial(dataset: Dataset, measure: str, seed: int) -> Trial:
    """Draw a split with the most pairs, and train its rankers, or for an error its regressors."""
    trial = Trial.prepare(dataset, PROTOCOL, seed)
    if measure == "accuracy":
        return trial
    roles, rankers = trial.roles, {}
    for name, task in dataset.tasks.items():
        table = standardise(task.features)
        main, reference = (
            Trained({}, regress(table, task.labels, rows), 0.0)
            for rows in (roles.train[name], roles.reference_train[name])
        )
        rankers[name] = Rankers(main, reference)
    return replace(trial, rankers=rankers)


def regress(table: FloatArray, labels: FloatArray, rows: IndexArray) -> FloatArray:
    """Values of all rows (n,) by kernel ridge regression on some of them."""
    level = labels[rows].mean()
    grid = {"alpha": PENALTIES, "gamma": [1.0 / (width * table.shape[1]) for width in WIDTHS]}
    search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=FOLDS, scoring="neg_mean_squared_error")
    return np.asarray(search.fit(table[rows], labels[rows] - level).predict(table) + level)


def with_fewer(trial: Trial, labels: int, pairs: int) -> Trial:
    """Return the same split with fewer labels and pairs; the main rows, the rankers and the test rows stay."""
    roles = trial.roles
    kept = np.concatenate([roles.reference_rows[:pairs], roles.reference_rows[trial.protocol.pairs :]])
    return replace(trial, roles=replace(roles, validation=roles.validation[:labels], reference_rows=kept))


def measure_row(folder: Path, dataset: str, measure: str, seed: int, labels: int, pairs: int) -> dict[str, object]:
    """Return the row of a cell; ``folder`` has the data, and ``dataset`` is the name of an experiment."""
    with threadpool_limits(1):
        trial = _prepared(folder, dataset, measure, seed)
        start = time.perf_counter()
        found = measure_cell(with_fewer(trial, labels, pairs), measure)
    row: dict[str, object] = dict(zip(KEY, (dataset, measure, seed, labels, pairs), strict=True))
    row |= {"tasks": len(trial.dataset.tasks), **found, "seconds": round(time.perf_counter() - start, 1)}
    return {**row, "data": data_digest(trial.dataset)}


@lru_cache(maxsize=1)
def _prepared(folder: Path, dataset: str, measure: str, seed: int) -> Trial:
    """Read a data set and prepare a split of it, of which a process measures several cells."""
    return prepare_trial(EXPERIMENTS[dataset].load(folder), measure, seed)


def measure_cell(trial: Trial, measure: str) -> dict[str, float]:
    """Return the mean over tasks of every method, the worst gain of a task over alone, and how many were accepted.

    Methods that need labels are NaN without labels. Without labels and references, JMD is the predictor alone.
    """
    regression, found = measure == "rmse", []
    for task in trial.dataset.tasks:
        case = Case(trial, task)
        predictions, accepted = _predict(case, regression=regression)
        values = {name: _value(case, each, regression=regression) for name, each in predictions.items()}
        gain = (values[OURS] - values[ALONE]) * (-1 if regression else 1)
        found.append({**values, "worst": gain, "accepted": float(accepted)})
    means = {name: float(np.mean([each.get(name, np.nan) for each in found])) for name in (*METHODS, "accepted")}
    return {**means, "worst": min(each["worst"] for each in found)}


def _predict(case: Case, *, regression: bool) -> tuple[dict[str, FloatArray], bool]:
    """Predictions of every method, and whether the refinement was accepted."""
    main, seed = case.main, case.trial.seed
    method = JointDiffusion(task="regression" if regression else "ranking")
    labels = RankLabels(case.trial.roles.validation, case.grades) if len(case.rows) else None
    ours = refine(main, case.references, labels, method, rng=seed)
    predictions = {ALONE: main.scores, OURS: ours.scores, WITHOUT: main.scores}
    if labels is not None:
        rng = np.random.default_rng(seed)
        predictions[WITHOUT] = refine(main, [], labels, method, rng=seed).scores
        learned, _ = own_labels(main, case.rows, case.grades, rng, regression=regression)
        smoothed, _ = self_smoothing(main, score_of(labels, main, regression=regression), rng)
        predictions |= dict(zip(RIVALS, (learned, smoothed), strict=True))
    return predictions, ours.accepted


def _value(case: Case, predictions: FloatArray, *, regression: bool) -> float:
    return case.test_error(predictions) if regression else case.test_accuracy(predictions)


def payoffs(rows: pl.DataFrame, dataset: str, measure: str) -> dict[tuple[int, int], Payoff]:
    """Summarise the stored rows of one map, by labels and pairs."""
    found = rows.filter(dataset=dataset, measure=measure).sort("labels", "pairs", maintain_order=True)
    cells = found.partition_by("labels", "pairs", as_dict=True, maintain_order=True)
    sign = -1.0 if measure == "rmse" else 1.0
    return {(labels, pairs): _payoff(members, sign) for (labels, pairs), members in cells.items()}


def _payoff(rows: pl.DataFrame, sign: float) -> Payoff:
    means = {name: sign * float(rows[name].cast(pl.Float64).to_numpy().mean()) for name in METHODS}
    known = {name: means[name] for name in RIVALS if np.isfinite(means[name])}
    rival = max(known, key=known.__getitem__) if known else ""
    over_alone, over_rival, worth = (
        100.0 * (means[OURS] - means[name]) if name else np.nan for name in (ALONE, rival, WITHOUT)
    )
    return Payoff(over_alone, over_rival, worth, rival, len(rows))


def payoff_grid(found: Mapping[tuple[int, int], Payoff]) -> Grid:
    """Three numbers in every cell, labels by pairs: over alone, over the best rival, and what references are worth."""
    pairs = sorted({pair for _, pair in found})

    def text(payoff: Payoff | None) -> str:
        if payoff is None:
            return ABSENT
        values = (payoff.over_alone, payoff.over_rival, payoff.worth)
        return " / ".join(f"{value:+.1f}" if np.isfinite(value) else ABSENT for value in values)

    return Grid(
        head=("labels", *(f"{pair} pairs" for pair in pairs), "best rival"),
        body=tuple(
            (
                str(labels),
                *(text(found.get((labels, pair))) for pair in pairs),
                ", ".join(dict.fromkeys(found[cell].rival for cell in found if cell[0] == labels)) or ABSENT,
            )
            for labels in sorted({labels for labels, _ in found})
        ),
    )


def title_of(dataset: str, measure: str) -> str:
    """Name a map as people write it."""
    return EXPERIMENTS[dataset].title + (", regression" if measure == "rmse" else "")
