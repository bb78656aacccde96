"""Measure what people use today beside the rivals of the study, and write a table of docs/compare.md.

Usage: python study/experiments/stronger.py [--data DIR] [--page]

It needs cleanlab, which the project does not depend on (``pip install cleanlab``). The problems are those of
``manifuse reproduce tables`` from every fifth table that have labels, and those of ``manifuse reproduce classes``,
trials 100 to 103. With ``--page`` it writes only the table, from the rows that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import standardise
from manifuse.rivals.imputation import FOLDS, searched_regressor
from manifuse.rivals.of_classes import imputed_logarithms
from manifuse.tables.problem import Problem
from manifuse_study.baselines.imputation import impute
from manifuse_study.datasets.classifiers import Classifiers
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.partners import Partners
from manifuse_study.experiments import classes
from manifuse_study.experiments.markdown import header, line, replace_parts
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.rows import read_csv, write_rows
from manifuse_study.experiments.scripts import drawn_from, parser_of
from manifuse_study.experiments.store import read_rows

HERE = Path(__file__).parent
OUT, PAGE = HERE / "results" / "stronger.csv", HERE.parents[1] / "docs" / "compare.md"

#: Trials, and which tables scores are drawn from.
TRIALS, EVERY = range(4), 5

#: Candidates of the boosting, chosen by cross-validation on the labels; and rounds of the co-training.
BOOSTING, ROUNDS = {"learning_rate": (0.03, 0.1), "min_samples_leaf": (5, 20)}, 3

#: What each line of the table is called, by the name of its method.
NAMES = {
    "boosting": "gradient boosting on features and scores",
    "boosting, imputed": "the same, with imputed references",
    "co-training": "co-training on the pairs",
    "consensus": "cleanlab's consensus (classes)",
}


def learned(table: FloatArray, rows: IndexArray, grades: FloatArray) -> FloatArray:
    """Learn grades of some rows of a table by gradient boosting, and predict all."""
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    model = HistGradientBoostingRegressor(random_state=0)
    return np.asarray(GridSearchCV(model, BOOSTING, cv=folds).fit(table[rows], grades).predict(table))


def labelled(problem: Partners) -> tuple[IndexArray, FloatArray]:
    """Rows with a label, and their grades."""
    assert problem.labels is not None, "there are labels"
    assert problem.labels.grades is not None, "labels are graded"
    return locate(problem.labels.keys, problem.main.keys)[0], problem.labels.grades


def own_table(problem: Partners) -> FloatArray:
    """Own features and scores, standardised."""
    assert problem.main.table is not None, "drawn tables have features"
    return standardise(np.column_stack([problem.main.table, problem.main.scores]))


def boosted(problem: Partners) -> FloatArray:
    """Learn the labels from own features and scores."""
    return learned(own_table(problem), *labelled(problem))


def boosted_with_references(problem: Partners) -> FloatArray:
    """Learn the labels from own features and scores, and from the scores of references, imputed from own features."""
    imputed, _ = impute(Problem.of(problem.main, problem.references), 0)
    return learned(np.column_stack([own_table(problem), imputed]), *labelled(problem))


def co_trained(problem: Partners) -> FloatArray:
    """Learn labels in two views: each labels the pairs for the other, which has a reference's features and scores.

    What a view says of a pair comes from a model that did not have this pair. Several references are averaged.
    """
    own, (rows, grades) = own_table(problem), labelled(problem)
    views = []
    for each in problem.references:
        theirs, known = locate(problem.main.keys, each.keys)
        pairs = np.flatnonzero(known)
        table = standardise(np.column_stack([each.table, each.scores]))
        views.append((pairs, table[theirs[pairs]]))
    said = searched_regressor(own.shape[1], len(rows), 0).fit(own[rows], grades).predict(own)
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    for _ in range(ROUNDS):
        said[rows] = grades
        guesses = np.full((len(own), len(views)), np.nan)
        for column, (pairs, table) in zip(guesses.T, views, strict=True):
            model = searched_regressor(table.shape[1], len(pairs), 0).fit(table, said[pairs]).best_estimator_
            column[pairs] = cross_val_predict(model, table, said[pairs], cv=folds)
        guessed = np.setdiff1d(np.flatnonzero(np.isfinite(guesses).any(axis=1)), rows)
        targets = np.concatenate([grades, np.nanmean(guesses[guessed], axis=1)])
        taught = np.concatenate([rows, guessed])
        said = searched_regressor(own.shape[1], len(taught), 0).fit(own[taught], targets).predict(own)
    return np.asarray(said)


def consensus(problem: Classifiers) -> FloatArray:
    """Let cleanlab find a consensus: each classifier is an annotator, references imputed, and so are the labels."""
    imputed = imputed_logarithms(problem.main, problem.references, 0).alike
    said = [problem.main.came, *(special.softmax(each, axis=1) for each in imputed[1:])]
    votes = np.column_stack([each.argmax(axis=1) for each in said]).astype(float)
    if problem.labels is not None:
        score = classes.labelled(problem)
        rows, places = score.rows, score.truth
        known = np.full(len(votes), np.nan)
        known[rows] = places
        votes = np.column_stack([votes, known])
    if votes.shape[1] == 1:
        return problem.main.came  # No reference has the same classes, so there is nobody to agree with.
    annotators = import_module("cleanlab.multiannotator")
    found = annotators.get_label_quality_multiannotator_ensemble(
        pd.DataFrame(votes).astype("Int64"), np.array(said), verbose=False
    )
    places = found["label_quality"]["consensus_label"].to_numpy(dtype=int)
    return np.eye(said[0].shape[1])[places]


METHODS: Mapping[str, Callable[[Partners], FloatArray]] = {
    "boosting": boosted,
    "boosting, imputed": boosted_with_references,
    "co-training": co_trained,
}


def of_scores(folder: Path) -> Iterator[dict[str, object]]:
    """Rows of problems of scores."""
    for trial in TRIALS:
        for name, _, draw in list(drawn_from("tables", folder, [FIRST_SEED + trial]))[::EVERY]:
            problem = draw()
            if problem.labels is None:
                continue
            for method, predict in METHODS.items():
                found = problem.accuracy(predict(problem))
                yield {"problem": name, "trial": trial, "method": method, "accuracy": round(found, 6)}


def of_classes(folder: Path) -> Iterator[dict[str, object]]:
    """Rows of problems of classes."""
    for trial in TRIALS:
        for name, _, draw in drawn_from("classes", folder, [FIRST_SEED + trial]):
            problem = draw()
            found, _ = classes.measures_of(problem, consensus(problem))
            yield {"problem": name, "trial": trial, "method": "consensus", "accuracy": found}


def lines(path: Path) -> list[str]:
    """Return the table of the page, in points, with standard errors over problems.

    What is compared with comes from the rows of ``manifuse reproduce``.
    """
    folders = (HERE / "results" / "tables", HERE / "results" / "classes")
    stored = {(row.task, row.trial, row.method): row.accuracy for each in folders for row in read_rows(each)}
    of_method: dict[str, list[tuple[float, ...]]] = {}
    for row in read_csv(path):
        key = row["problem"], int(row["trial"])
        # Without labels, "refined" has no row.
        ours = stored[*key, "refined"] or stored[*key, "refined, no labels"]
        of_method.setdefault(row["method"], []).append((stored[*key, "alone"], ours, float(row["accuracy"])))
    made = header("", "gain over alone", "refined, gain over alone", "refined minus it", "problems")
    for method, name in NAMES.items():
        alone, ours, theirs = 100.0 * np.array(of_method[method]).T
        cells = [
            f"{gains.mean():+.1f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.1f}"
            for gains in (theirs - alone, ours - alone, ours - theirs)
        ]
        made.append(line(name, *cells, str(len(alone))))
    return made


def main() -> None:
    """Write the rows and the table."""
    parser = parser_of(__doc__, OUT)
    parser.add_argument("--page", action="store_true", help="write only the table")
    options = parser.parse_args()
    if not options.page:
        folder = data_folder(options.data)
        write_rows(options.out, (part(folder) for part in (of_scores, of_classes)))
    replace_parts(PAGE, {"stronger": lines(options.out)})


if __name__ == "__main__":
    main()
