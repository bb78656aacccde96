"""Classifiers drawn from a table: a main classifier, references and labels, as real teams have them.

A problem is drawn from a table, with random columns for each party (`draw_classifiers`), or made of views of the same
rows, where each party has one view (`classifiers_of_views`), or of the halves of the digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from manifuse.datasets.digit_halves import draw_halves
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.tables.labels import ClassLabels
from manifuse.tables.observations import Observations
from manifuse_study.datasets.array_files import read_arrays
from manifuse_study.datasets.cal7 import CAL7
from manifuse_study.datasets.hw import HW

#: What a problem is drawn from: numbers of references, of pairs, and of labels.
REFERENCES, PAIRS, LABELS = (1, 2, 3), (60, 100, 200), (0, 50, 100, 200)

#: Training rows of the main classifier, and of a reference.
TRAINED, REFERENCE_TRAINED = (60, 120, 250), (120, 300, 800)

#: Shares of the columns that the main classifier and a reference see; the share of problems in which a reference knows
#: coarser classes.
SEEN, SEEN_BY_REFERENCE, COARSE = (0.3, 0.7), (0.3, 0.9), 0.25

#: With views: rows that each classifier learns from, and pairs.
TRAINED_ON_VIEW, PAIRS_OF_VIEWS = 400, 200

#: The gas sensors that are read: every third of 16; and how many rows are drawn.
GASES, SENSORS = Path("gas_drift16", "gas_drift16.npz"), tuple(f"X_sensor{number:02d}" for number in range(1, 17, 3))
GAS_ROWS = 3000


@dataclass(frozen=True, eq=False)
class Classifiers:
    """A problem.

    Attributes
    ----------
    main : Observations
    references : tuple of Observations
    everywhere : tuple of Observations
        What the references would say of every main row; no method may see this but the oracle. Empty if nobody knows.
    labels : ClassLabels or None
    truth : (n,) array of str
        Of every main row.
    test : (t,) array of int
        Main rows that no method may learn from: without a label, and not among those that the main classifier has
        learned from.
    coarse : bool
        Whether the first reference knows coarser classes.
    """

    main: Observations
    references: tuple[Observations, ...]
    everywhere: tuple[Observations, ...]
    labels: ClassLabels | None
    truth: NDArray[np.str_]
    test: IndexArray
    coarse: bool = False

    @property
    def pairs(self) -> IndexArray:
        """Main rows that all references know."""
        return np.flatnonzero(np.isin(self.main.keys, self.references[0].keys))


#: A table that problems are drawn from: features ``X`` (n, d), or several views by their names, and ``y`` (n,).
Table = Mapping[str, NDArray[Any]]


def _digits(folder: Path) -> Table:
    del folder
    images, digits = load_digits(return_X_y=True)
    return {"X": images, "y": digits}


def _views(source: Any) -> Callable[[Path], Table]:
    def read(folder: Path) -> Table:
        tasks = source.load(folder).tasks
        y = next(iter(tasks.values())).labels.astype(int)
        return {**{f"X_{name}": task.features for name, task in tasks.items()}, "y": y}

    return read


def _gases(folder: Path) -> Table:
    arrays = read_arrays(folder / GASES, (*SENSORS, "y"))
    rows = np.random.default_rng(0).permutation(len(arrays["y"]))[:GAS_ROWS]
    # Single readings are far off, so ranks are taken.
    views = {name: rankdata(arrays[name][rows], axis=0) / len(rows) for name in SENSORS}
    return {**views, "y": arrays["y"][rows]}


#: Data sets with views by their names, and who reads them.
VIEWS: Mapping[str, Callable[[Path], Table]] = {"hw": _views(HW), "cal7": _views(CAL7), "gases": _gases}


def table_names(folder: Path) -> list[str]:
    """Names of the tables that problems are drawn from: of the folder ``classes``, the digits, and data with views."""
    views = {"hw": HW.is_there(folder), "cal7": CAL7.is_there(folder), "gases": (folder / GASES).is_file()}
    there = [name for name, is_there in views.items() if is_there]
    return [*sorted(path.stem for path in (folder / "classes").glob("*.npz")), "digits", *there]


def read_class_table(folder: Path, name: str) -> Table:
    """Read a table by its name.

    Raises
    ------
    InputError
        If it cannot be read, or lacks an array.
    """
    if name == "digits":
        return _digits(folder)
    return VIEWS[name](folder) if name in VIEWS else read_arrays(folder / "classes" / f"{name}.npz", ("X", "y"))


def of_two_classes(table: Table) -> Table:
    """Make two classes of the targets of a table: below and above the median, of almost equal size."""
    y = np.asarray(table["y"], dtype=float)
    above = min((y > np.median(y), y >= np.median(y)), key=lambda each: abs(each.mean() - 0.5))
    return {"X": table["X"], "y": np.where(above, "above", "below")}


def draw_classifiers(table: Table, seed: int) -> Classifiers:
    """Draw one problem from a table."""
    rng = np.random.default_rng(seed)
    views: list[FloatArray] = [np.asarray(table[name], dtype=float) for name in table if name.startswith("X_")]
    y = np.asarray(table["y"]).astype(str)
    classes, order, half = np.unique(y), rng.permutation(len(y)), len(y) // 2
    mine, theirs = order[:half], order[half:]
    references = len(views) - 1 if views else int(rng.choice(REFERENCES))
    pairs, labels, trained = (
        int(min(rng.choice(choices), half // share)) for choices, share in ((PAIRS, 3), (LABELS, 4), (TRAINED, 3))
    )
    common, train = (rng.choice(mine, count, replace=False) for count in (pairs, trained))
    known = rng.choice(np.setdiff1d(mine, train), labels, replace=False)
    coarse = bool(rng.random() < COARSE) and len(classes) > 3
    merged = rng.choice(classes, 2, replace=False)
    seats = rng.permutation(len(views)) if views else None

    def features(seat: int, seen: tuple[float, float]) -> FloatArray:
        if seats is not None:
            return views[int(seats[seat])]
        X: FloatArray = np.asarray(table["X"], dtype=float)
        count = max(2, round(rng.uniform(*seen) * X.shape[1]))
        return np.asarray(X[:, np.sort(rng.choice(X.shape[1], min(count, X.shape[1]), replace=False))])

    seen = features(0, SEEN)
    main, _ = _party("ours", seen, _classifier(rng), train, y, (mine, mine))
    others = []
    for number in range(references):
        rows = rng.permutation(np.concatenate([common, theirs]))
        learned = rng.choice(theirs, int(min(rng.choice(REFERENCE_TRAINED), len(theirs))), replace=False)
        target = np.where(np.isin(y, merged), "+".join(merged), y) if coarse and number == 0 else y
        seen = features(number + 1, SEEN_BY_REFERENCE)
        others.append(_party(f"partner{number + 1}", seen, _classifier(rng), learned, target, (rows, mine)))
    return _problem(main, others, y[mine], train, known, y, coarse=coarse)


def classifiers_of_views(table: Table, seed: int, labels: int) -> Classifiers:
    """Make the problem in which each party has one view; the seed says whose turn it is to be refined."""
    rng = np.random.default_rng(seed)
    views, y = [name for name in table if name != "y"], np.asarray(table["y"]).astype(str)
    seat = seed % len(views)
    views = [views[seat], *views[:seat], *views[seat + 1 :]]
    ours, theirs = np.array_split(rng.permutation(len(y)), 2)
    common, train = rng.permutation(ours)[:PAIRS_OF_VIEWS], rng.permutation(ours)[:TRAINED_ON_VIEW]
    known, parties = rng.permutation(np.setdiff1d(ours, train))[:labels], []
    for view in views:
        is_main = view == views[0]
        rows = ours if is_main else np.concatenate([common, theirs])
        learned = train if is_main else rng.permutation(theirs)[:TRAINED_ON_VIEW]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        parties.append(_party(view[2:], np.asarray(table[view], dtype=float), model, learned, y, (rows, ours)))
    (main, _), *others = parties
    return _problem(main, others, y[ours], train, known, y)


def classifiers_of_halves(seed: int, labels: int) -> Classifiers:
    """Make the problem of the digits' halves; test rows are no pairs there."""
    halves = draw_halves(labels=labels, seed=seed)
    return Classifiers(halves.main, halves.references, (), halves.labels, halves.truth, halves.test)


def _problem(
    main: Observations,
    others: list[tuple[Observations, Observations]],
    truth: NDArray[np.str_],
    train: IndexArray,
    known: IndexArray,
    y: NDArray[np.str_],
    *,
    coarse: bool = False,
) -> Classifiers:
    """Put a problem together: the truth of its main rows, and rows of the table that were learned or have a label."""
    test = np.setdiff1d(main.keys.astype(int), np.concatenate([train, known]))
    labels = ClassLabels(known, y[known]) if len(known) else None
    references, everywhere = ((), ()) if not others else zip(*others, strict=True)
    return Classifiers(main, references, everywhere, labels, truth, locate(test.astype(str), main.keys)[0], coarse)


def _party(
    name: str,
    features: FloatArray,
    model: Any,
    training: IndexArray,
    target: NDArray[np.str_],
    rows: tuple[IndexArray, IndexArray],
) -> tuple[Observations, Observations]:
    """Train a party's model; its table of some rows, and what it says of other rows, without features."""
    names = np.unique(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(features[training], target[training])
        said = [np.zeros((len(each), len(names))) for each in rows]
        for each, values in zip(rows, said, strict=True):
            values[:, np.searchsorted(names, model.classes_)] = model.predict_proba(features[each])
    return (
        Observations(said[0], features[rows[0]], ids=rows[0], classes=names, name=name),
        Observations(said[1], ids=rows[1], classes=names, name=name),
    )


def _classifier(rng: np.random.Generator) -> Any:
    """One of four kinds of classifiers that people use."""
    kind = int(rng.integers(4))
    if kind == 1:
        return RandomForestClassifier(200, min_samples_leaf=2, random_state=int(rng.integers(1 << 30)))
    models = {
        0: LogisticRegression(max_iter=500),
        2: KNeighborsClassifier(7),
        3: SVC(C=3.0, probability=True, random_state=0),
    }
    return make_pipeline(StandardScaler(), models[kind])
