"""Change the circumstances of drawn problems: which rows are common or labelled, who knows what, what references say.

Usage: python study/experiments/circumstances.py [--data DIR] [--out FILE]

Scores are those of ``manifuse reproduce tables``, trial 100. Classes are those that ``manifuse reproduce classes``
draws from tables without views, trials 100 to 103.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

import manifuse as mf
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import standardise
from manifuse_study.datasets.classifiers import VIEWS, Classifiers
from manifuse_study.datasets.partners import Partners, with_scores
from manifuse_study.experiments.classes import measures_of, refined
from manifuse_study.experiments.scripts import Drawn, drawn_from, run_by_problem

OUT = Path(__file__).parent / "results" / "circumstances.csv"

#: Seeds of the trials.
TRIALS, TRIALS_OF_CLASSES = (100,), range(100, 104)

#: Common rows that are left; the share of main rows that is a corner; the noise of a version, in deviations; rows
#: that a decision calls positive.
FEW, CORNER, VERSION, POSITIVE = 15, 0.4, 0.3, 0.3

References = Sequence[mf.Observations]
#: From the main table and its references to other references.
Circumstance = Callable[[mf.Observations, References, np.random.Generator], References]


def with_pairs(table: mf.Observations, main: mf.Observations, kept: np.ndarray) -> mf.Observations:
    """Return a reference that knows no other main rows than those with ids ``kept``."""
    there = ~np.isin(table.keys, main.keys) | np.isin(table.keys, kept)
    return table.take(np.flatnonzero(there))


def few_pairs(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Leave a few common rows."""
    common = np.intersect1d(main.keys, others[0].keys)
    kept = rng.choice(common, min(FEW, len(common)), replace=False)
    return [with_pairs(each, main, kept) for each in others]


def corner(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Leave common rows that have low values of the first principal component of the main features."""
    del rng
    assert main.table is not None, "drawn tables have features"
    component = np.linalg.svd(standardise(main.table), full_matrices=False)[0][:, 0]
    kept = main.keys[component <= np.quantile(component, CORNER)]
    return [with_pairs(each, main, kept) for each in others]


def half_each(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Leave every reference half of its common rows, not the same ones."""
    halves = []
    for each in others:
        common = np.intersect1d(main.keys, each.keys)
        halves.append(with_pairs(each, main, rng.choice(common, (len(common) + 1) // 2, replace=False)))
    return halves


def noise(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Add two references for each that say what it says of other rows."""
    del main
    mixed = [
        with_scores(each, each.came[rng.permutation(len(each))], name=f"{each.name} {copy}")
        for each in others
        for copy in "ab"
    ]
    return [*others, *mixed]


def versions(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Add three versions of the last reference, which differ by a little noise."""
    del main
    last, more = others[-1], []
    for copy in "abc":
        said = rng.standard_normal(last.came.shape)
        if last.classes is None:
            came = last.came + VERSION * last.came.std() * said
        else:
            came = last.came * np.exp(VERSION * said)
            came = came / came.sum(axis=1, keepdims=True)
        more.append(with_scores(last, came, name=f"{last.name} {copy}"))
    return [*others, *more]


def decisions(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Let references say yes or no, or name a class, and nothing else."""
    del main, rng
    return [with_scores(each, _decided(each)) for each in others]


def _decided(table: mf.Observations) -> FloatArray:
    if table.classes is None:
        return np.asarray(table.came > np.quantile(table.came, 1.0 - POSITIVE), dtype=np.float64)
    return np.eye(len(table.classes))[table.came.argmax(axis=1)]


def half_the_classes(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Let every reference know half of its classes, and share their rows among these."""
    del main
    halves = []
    for each in others:
        assert each.classes is not None, "it has classes"
        known = np.sort(rng.choice(len(each.classes), len(each.classes) // 2, replace=False))
        left = each.came[:, known] + 1e-3
        left = left / left.sum(axis=1, keepdims=True)
        halves.append(with_scores(each, left, classes=[each.classes.names[place] for place in known]))
    return halves


def one_class(main: mf.Observations, others: References, rng: np.random.Generator) -> References:
    """Let every reference tell one of its classes from all others."""
    del main
    told = []
    for each in others:
        assert each.classes is not None, "it has classes"
        place = int(rng.integers(len(each.classes)))
        probability = each.came[:, place]
        came = np.stack([probability, 1.0 - probability], axis=1)
        told.append(with_scores(each, came, classes=(each.classes.names[place], "other")))
    return told


def of_each_class(labels: mf.ClassLabels, rng: np.random.Generator) -> mf.ClassLabels:
    """Return as many labels of each class as there are of the rarest."""
    names, counts = np.unique(labels.names, return_counts=True)
    kept = [rng.choice(np.flatnonzero(labels.names == name), counts.min(), replace=False) for name in names]
    rows = np.concatenate(kept)
    return mf.ClassLabels(labels.keys[rows], labels.names[rows])


#: Here, our own predictor decides, too.
OUR_OWN_TOO = "decisions alone, our own too"

#: Here, labels are chosen by their class.
EACH_CLASS = "as many labels of each class"

CIRCUMSTANCES: Mapping[str, Circumstance] = {
    "as drawn": lambda main, others, rng: others,
    f"{FEW} common rows": few_pairs,
    "common rows in a corner": corner,
    "half of the common rows each": half_each,
    "two references of noise for each": noise,
    "three more versions of one": versions,
    "decisions alone": decisions,
    OUR_OWN_TOO: decisions,
    "half of the classes each": half_the_classes,
    "one class against the rest each": one_class,
    EACH_CLASS: lambda main, others, rng: others,
}

#: In these circumstances references lose classes. All of them must have so many. Rivals learn from so many pairs at
#: least.
FEWEST_CLASSES = {"half of the classes each": 4, "one class against the rest each": 3}
FEWEST_PAIRS = 10

#: The rarest class must have so many labels.
FEWEST_LABELS = 3


def rows_of(problem: Partners | Classifiers) -> Iterator[dict[str, object]]:
    """Return the gain of every method in every circumstance: in ranking accuracy, or in accuracy of classes."""
    for circumstance, change in CIRCUMSTANCES.items():
        if _fewest_classes(problem) < FEWEST_CLASSES.get(circumstance, 0):
            continue
        main, labels, rng = problem.main, problem.labels, np.random.default_rng(0)
        if circumstance == EACH_CLASS:
            if not isinstance(labels, mf.ClassLabels) or np.unique_counts(labels.names).counts.min() < FEWEST_LABELS:
                continue
            labels = of_each_class(labels, rng)
        if circumstance == OUR_OWN_TOO:
            main = with_scores(main, _decided(main))
        others = list(change(main, problem.references, rng))
        if min(np.isin(each.keys, main.keys).sum() for each in others) < FEWEST_PAIRS:
            continue
        methods = {"refined, no labels": None} | ({} if labels is None else {"refined": labels})
        found = {method: refined(main, others, given) for method, given in methods.items()}
        found["impute and average"] = np.asarray(mf.rivals.impute_and_average(main, others))
        kind, alone = "scores" if isinstance(problem, Partners) else "classes", accuracy(problem, main.came)
        for method, came in found.items():
            gain = 100.0 * (accuracy(problem, came) - alone)
            yield {"kind": kind, "circumstance": circumstance, "method": method, "gain": round(gain, 4)}


def _fewest_classes(problem: Partners | Classifiers) -> int:
    return min(0 if each.classes is None else len(each.classes) for each in problem.references)


def accuracy(problem: Partners | Classifiers, came: FloatArray) -> float:
    """Return the accuracy of scores (n,) or probabilities (n, k) on the test rows."""
    return problem.accuracy(came) if isinstance(problem, Partners) else measures_of(problem, came)[0]


def drawn(folder: Path) -> Iterator[Drawn]:
    """Problems of scores, and of classes without views."""
    yield from drawn_from("tables", folder, TRIALS)
    for name, seed, draw in drawn_from("classes", folder, TRIALS_OF_CLASSES):
        if name not in VIEWS and not name.endswith("labels"):
            yield name, seed, draw


if __name__ == "__main__":
    run_by_problem(rows_of, OUT, drawn, description=__doc__)
