"""Refine classifiers: problems drawn from tables of classes, and two protocols with views; a row for each method.

Usage: python study/experiments/classes.py [--data FOLDER] [--trials 10] [--first 100] [--jobs 2]
       python study/experiments/classes.py --page docs/classes.md

Problems are drawn by ``tables/draw.py`` of the data folder, of which `draw_classes` gives main, references, labels and
the truth of test rows. In the protocols of HW and Cal7 every view is a party: the main classifier and the references,
logistic regressions, have learned from 400 rows each, 200 rows are known on both sides, and 200 have a label.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import special
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

import manifuse as mf
from manifuse.datasets.digit_halves import draw_halves
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import standardise
from manifuse.rivals.imputation import searched_regressor
from manifuse_study.experiments.provenance import provenance, rows_csv

OUT = Path(__file__).parent / "results" / "classes.csv"

#: Where the section begins in the page about classifiers.
MARKER = "<!-- results -->"

#: Probabilities below this are taken as this, so that logarithms are finite; and the tables with views.
LEAST, VIEWS = 1e-4, {"hw": "hw/mfeat.npz", "cal7": "cal7/cal7.npz"}

#: Of the protocols with views: rows that each classifier learned from, pairs, and labels.
TRAINED, PAIRS, LABELS = 400, 200, 200

#: Neighbours, share and steps of correct and smooth (Huang et al. 2021).
NEIGHBOURS, SHARE, STEPS = 10, 0.8, 50


@dataclass(frozen=True, eq=False)
class Problem:
    """One problem, and what it is."""

    facts: Mapping[str, object]
    main: mf.Observations
    references: tuple[mf.Observations, ...]
    labels: mf.ClassLabels | None
    test: IndexArray
    truth: NDArray[np.str_]

    @property
    def logarithms(self) -> FloatArray:
        """Logarithms of the main probabilities (n, k)."""
        return np.log(np.maximum(self.main.came, LEAST))

    @property
    def features(self) -> FloatArray:
        """Standardised features of the main rows."""
        assert self.main.table is not None, "drawn tables have features"
        return standardise(self.main.table)

    def labelled(self) -> tuple[IndexArray, IndexArray]:
        """Rows with a label, and the place of the class of each."""
        assert self.labels is not None, "there are labels"
        assert self.main.classes is not None, "there are classes"
        rows, places = locate(self.labels.keys, self.main.keys)[0], self.main.classes.places_of(self.labels.names)
        return rows[places >= 0], places[places >= 0]

    def imputed(self) -> list[FloatArray]:
        """Logarithms of probabilities of every reference with the same classes, imputed by regression."""
        found = []
        for reference in self.references:
            if reference.classes != self.main.classes:
                continue
            theirs, known = locate(self.main.keys, reference.keys)
            rows = np.flatnonzero(known)
            said = np.log(np.maximum(reference.came[theirs[rows]], LEAST))
            column = (
                searched_regressor(self.features.shape[1], len(rows), 0)
                .fit(self.features[rows], said)
                .predict(self.features)
            )
            column[rows] = said
            found.append(column)
        return found


def _refined(problem: Problem) -> FloatArray:
    return np.asarray(mf.refine(problem.main, problem.references, problem.labels, rng=0).predictions)


def _without_labels(problem: Problem) -> FloatArray:
    return np.asarray(mf.refine(problem.main, problem.references, rng=0).predictions)


def _without_references(problem: Problem) -> FloatArray:
    return np.asarray(mf.refine(problem.main, [], problem.labels, rng=0).predictions)


def _averaged(problem: Problem) -> FloatArray:
    return special.softmax(np.mean([problem.logarithms, *problem.imputed()], axis=0), axis=1)


def _stacked(problem: Problem) -> FloatArray:
    return _logistic(problem, np.column_stack([problem.logarithms, *problem.imputed()]))


def _own_labels(problem: Problem) -> FloatArray:
    return _logistic(problem, np.column_stack([problem.logarithms, problem.features]))


def _logistic(problem: Problem, table: FloatArray) -> FloatArray:
    """Learn the classes of labelled rows by logistic regression."""
    rows, places = problem.labelled()
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(table[rows], places)
    return _columns(model.predict_proba(table), model.classes_, problem)


def _spread(problem: Problem) -> FloatArray:
    rows, places = problem.labelled()
    targets = np.full(len(problem.main), -1)
    targets[rows] = places
    model = LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS, max_iter=200).fit(problem.features, targets)
    return _columns(model.label_distributions_, model.classes_, problem)


def _correct_and_smooth(problem: Problem) -> FloatArray:
    """Spread the errors at labelled rows over the graph, correct by them, then spread what comes of it."""
    rows, places = problem.labelled()
    graph = kneighbors_graph(problem.features, NEIGHBOURS)
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
    return smoothed / smoothed.sum(axis=1, keepdims=True)


def _one_against_the_rest(problem: Problem) -> FloatArray:
    """Refine the log-odds of each class by themselves, as it was possible before."""
    assert problem.main.classes is not None, "there are classes"
    odds = []
    for name in problem.main.classes.names:
        main, *others = (
            mf.Observations(
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
            labels = mf.RankLabels(problem.labels.keys, right) if 0 < right.sum() < len(right) else None
        if np.ptp(main.scores) == 0 or (labels is None and not others):
            odds.append(main.scores)
            continue
        method = mf.JointDiffusion(same_target=True)
        odds.append(mf.refine(main, others, labels, method, rng=0).scores)
    found = np.maximum(special.expit(np.column_stack(odds)), LEAST)
    return found / found.sum(axis=1, keepdims=True)


def _columns(probabilities: FloatArray, places: IndexArray, problem: Problem) -> FloatArray:
    """Probabilities of all classes, of which a model may know only some."""
    found = np.full(problem.main.came.shape, LEAST)
    found[:, places] = np.maximum(probabilities, LEAST)
    return found / found.sum(axis=1, keepdims=True)


#: Every method by its name: what it does, and whether it needs labels.
METHODS: Mapping[str, tuple[Callable[[Problem], FloatArray], bool]] = {
    "alone": (lambda problem: problem.main.came, False),
    "refined": (_refined, True),
    "refined, no labels": (_without_labels, False),
    "refined, no references": (_without_references, True),
    "impute and average": (_averaged, False),
    "impute and stack": (_stacked, True),
    "own labels": (_own_labels, True),
    "label spreading": (_spread, True),
    "correct and smooth": (_correct_and_smooth, True),
    "one against the rest": (_one_against_the_rest, False),
}


def tables_in(folder: Path) -> dict[str, Mapping[str, Any]]:
    """The tables that problems are drawn from, by name."""
    found: dict[str, Mapping[str, Any]] = {
        path.stem: dict(np.load(path)) for path in sorted((folder / "classes").glob("*.npz"))
    }
    images, digits = load_digits(return_X_y=True)
    found["digits"] = {"X": images, "y": digits}
    for name, file in VIEWS.items():
        archive = np.load(folder / file)
        found[name] = {key: archive[key] for key in archive.files if key.startswith("X_") or key == "y"}
    return found


def drawn(folder: Path, name: str, number: int, trial: int) -> Problem:
    """Draw a problem from a table by ``draw.py`` of the data folder."""
    spec = importlib.util.spec_from_file_location("draw", folder / "tables" / "draw.py")
    assert spec is not None, "the data folder has draw.py"
    assert spec.loader is not None, "it is a module"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Table(dict[str, Any]):
        """A table that is read as an archive is."""

        files = property(list)

    seed = 1000 * trial + number
    given = module.draw_classes(Table(tables_in(folder)[name]), seed)
    main, *others = (
        mf.Observations(each["scores"], each["features"], ids=each["ids"], classes=each["classes"], name=each["name"])
        for each in (given["main"], *given["references"])
    )
    ids, names = given["labels"]
    facts = {"problem": name, "trial": trial, "seed": seed, "labels": len(ids), "references": len(others)}
    facts |= {"pairs": given["pairs"], "coarse": given["coarse"]}
    labels = mf.ClassLabels(ids, names) if len(ids) else None
    test = locate(np.asarray(given["test_ids"]).astype(str), main.keys)[0]
    return Problem(facts, main, tuple(others), labels, test, np.asarray(given["truth"]))


def of_views(folder: Path, name: str, trial: int, labels: int) -> Problem:
    """Make the problem of a protocol with views: the first view is refined by the others."""
    table, rng = tables_in(folder)[name], np.random.default_rng(trial)
    views, classes = [key for key in table if key != "y"], np.asarray(table["y"]).astype(str)
    seat = trial % len(views)
    views = [views[seat], *views[:seat], *views[seat + 1 :]]
    ours, theirs = np.array_split(rng.permutation(len(classes)), 2)
    common, learned = rng.permutation(ours)[:PAIRS], rng.permutation(ours)[:TRAINED]
    known = rng.permutation(np.setdiff1d(ours, learned))[:labels]
    tables = []
    for view in views:
        features = np.asarray(table[view], dtype=float)
        is_main = view == views[0]
        rows = ours if is_main else np.concatenate([common, theirs])
        trained = learned if is_main else rng.permutation(theirs)[:TRAINED]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        model.fit(features[trained], classes[trained])
        said = model.predict_proba(features[rows])
        tables.append(mf.Observations(said, features[rows], ids=rows, classes=model.classes_, name=view[2:]))
    test = np.setdiff1d(ours, np.concatenate([learned, known]))
    facts = {"problem": f"{name} views", "trial": trial, "seed": trial, "labels": labels, "references": len(views) - 1}
    given = mf.ClassLabels(known, classes[known]) if labels else None
    rows = locate(test.astype(str), tables[0].keys)[0]
    return Problem(
        {**facts, "pairs": PAIRS, "coarse": False}, tables[0], tuple(tables[1:]), given, rows, classes[test]
    )


def of_halves(trial: int, labels: int) -> Problem:
    """Make the problem of digits' halves, in which the reference gives its whole table."""
    halves = draw_halves(labels=labels, seed=trial)
    facts = {"problem": "digit halves", "trial": trial, "seed": trial, "labels": labels, "references": 1, "pairs": 150}
    test = halves.test
    return Problem({**facts, "coarse": False}, halves.main, halves.references, halves.labels, test, halves.truth[test])


def measure(make: Callable[..., Problem], *given: Any, about: Mapping[str, str]) -> list[dict[str, object]]:
    """Solve a problem by every method."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = make(*given)
        rows = []
        for name, (method, needs_labels) in METHODS.items():
            if needs_labels and problem.labels is None:
                continue
            start = time.perf_counter()
            found = method(problem)[problem.test]
            seconds = round(time.perf_counter() - start, 3)
            rows.append({**problem.facts, "method": name, **measures(problem, found), "seconds": seconds, **about})
        return rows


def measures(problem: Problem, probabilities: FloatArray) -> dict[str, float]:
    """Accuracy, log loss, Brier score and calibration error (15 bins) of test rows."""
    assert problem.main.classes is not None, "there are classes"
    places = problem.main.classes.places_of(problem.truth)
    truth = np.where(places[:, None] >= 0, np.eye(probabilities.shape[1])[np.maximum(places, 0)], 0.0)
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == places
    bins = np.minimum((sure * 15).astype(int), 14)
    gaps = [abs((sure[bins == each] - right[bins == each]).sum()) for each in range(15)]
    said = np.where(places >= 0, probabilities[np.arange(len(places)), np.maximum(places, 0)], 0.0)
    return {
        "accuracy": round(float(right.mean()), 6),
        "log_loss": round(float(-np.log(np.maximum(said, LEAST)).mean()), 6),
        "brier": round(float(((probabilities - truth) ** 2).sum(axis=1).mean()), 6),
        "calibration": round(float(np.sum(gaps) / len(places)), 6),
    }


def jobs_of(folder: Path, first: int, trials: int) -> Iterator[tuple[Any, ...]]:
    """All problems."""
    for trial in range(first, first + trials):
        for number, name in enumerate(tables_in(folder)):
            yield drawn, folder, name, number, trial
        for labels in (0, LABELS):
            for name in VIEWS:
                yield of_views, folder, name, trial, labels
        for labels in (0, 100):
            yield of_halves, trial, labels


def gains_of(rows: list[dict[str, str]], method: str) -> FloatArray:
    """What a method gains over the main classifier alone: points of accuracy and log loss of each problem, (p, 2)."""
    by_problem: dict[tuple[str, str, str], dict[str, dict[str, str]]] = {}
    for row in rows:
        by_problem.setdefault((row["problem"], row["trial"], row["labels"]), {})[row["method"]] = row
    found = []
    for methods in by_problem.values():
        if method in methods:
            after, before = methods[method], methods["alone"]
            accuracy, loss = (float(after[key]) - float(before[key]) for key in ("accuracy", "log_loss"))
            found.append((100.0 * accuracy, loss))
    return np.array(found)


def section(rows: list[dict[str, str]]) -> str:
    """The section of the page about classifiers that the rows make."""
    special = ("views", "halves")
    of_tables = [row for row in rows if not row["problem"].endswith(special)]
    lines = [
        "| | gain, points | log loss | 5 % quantile | worse by a point | problems |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for method in METHODS:
        gains = gains_of(of_tables, method)
        worse = np.mean(gains[:, 0] < -1.0)
        numbers = f"{gains[:, 0].mean():+.1f} | {gains[:, 1].mean():+.2f} | {np.quantile(gains[:, 0], 0.05):+.1f}"
        lines += [] if method == "alone" else [f"| {method} | {numbers} | {worse:.0%} | {len(gains)} |"]
    names = sorted({row["problem"] for row in rows if row["problem"].endswith(special)})
    columns = [(name, labels) for name in names for labels in ("0", "100", "200")]
    columns = [each for each in columns if any((row["problem"], row["labels"]) == each for row in rows)]
    lines += ["", "Accuracy in per cent, mean of ten splits, by number of labels:", ""]
    lines += ["| | " + " | ".join(f"{name}, {labels}" for name, labels in columns) + " |"]
    lines += ["| --- |" + " ---: |" * len(columns)]
    for method in METHODS:
        cells = []
        for each in columns:
            found = [
                float(r["accuracy"]) for r in rows if (r["problem"], r["labels"]) == each and r["method"] == method
            ]
            cells.append(f"{100 * np.mean(found):.1f}" if found else "\u2013")
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Compute all rows, and write them and the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MANIFUSE_DATA", "../shared/data")))
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", type=Path, help="write only the section of this page, from the rows that there are")
    given = parser.parse_args()
    if given.page is not None:
        with given.out.open(encoding="utf-8") as file:
            made = section(list(csv.DictReader(file)))
        head, _, _ = given.page.read_text(encoding="utf-8").partition(MARKER)
        given.page.write_text(f"{head}{MARKER}\n\n{made}\n", encoding="utf-8")
        return
    jobs = jobs_of(given.data, given.first, given.trials)
    done = Parallel(n_jobs=given.jobs)(delayed(measure)(*job, about=provenance()) for job in jobs)
    given.out.write_bytes(rows_csv([row for rows in done for row in rows]))


if __name__ == "__main__":
    main()
