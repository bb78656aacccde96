"""Data sets: real tables to try things on, as two sides that know a few rows in common.

Clinics, digits and their halves come with scikit-learn, so nothing is downloaded. The truth is for judging: no
predictor saw it.
"""

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifuse.datasets.digit_halves import load_digit_halves as load_digit_halves
from manifuse.datasets.digit_views import digit_views
from manifuse.datasets.example import Example as Example
from manifuse.datasets.example import whole_number
from manifuse.errors import InputError, look_up
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations

#: Tumours that clinic A learned from, that clinic B learned from, and that were at both.
CLINIC_A, CLINIC_B, COMMON = 30, 120, 100

#: What each clinic measures, as columns of the data: how much the cells of a tumour differ, and its largest cells.
SPREAD, LARGEST = slice(10, 20), slice(20, 30)

#: Rows that each predictor learned from, and that both sides know; the penalty of a kernel ridge regression.
TRAINING, PAIRS, PENALTY = 200, 200, 0.1

#: The group of entry points by which the package of the study adds data sets to `load`.
GROUP = "manifuse.datasets"

#: With fewer test rows an accuracy says little.
LEAST_TEST = 30


def load_clinics(*, labels: int = 0, seed: int = 0) -> Example[RankLabels]:
    """Load two clinics that judge whether breast tumours are malignant.

    The tumours are real (569, Wisconsin). We split them at random: clinic A has learned from 30 of them, clinic B from
    120 others, and each of the rest was at one of them, 100 at both. Clinic A knows how much the cells of a tumour
    differ from each other, in ten numbers. Clinic B knows the same ten numbers of its largest cells, which say more.

    Parameters
    ----------
    labels : int
        How many tumours of clinic A have a known truth, at most 100.
    seed : int
        Of the split.

    Returns
    -------
    Example

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics()
    >>> clinics.main, clinics.references[0]
    (Observations('clinic A': 259 rows, 10 features), Observations('clinic B': 260 rows, 10 features))
    >>> result = mf.refine(clinics.main, clinics.references, rng=0)
    >>> clinics.accuracy(result.predictions) > clinics.accuracy(clinics.main.scores)
    True
    """
    data = load_breast_cancer()
    malignant = 1.0 - data.target
    order = np.random.default_rng(whole_number("seed", seed)).permutation(len(malignant))
    learned_a, learned_b, common, rest = np.split(order, np.cumsum([CLINIC_A, CLINIC_B, COMMON]))
    only_a, only_b = np.split(rest, [len(rest) // 2])
    tables = []
    for name, columns, learned, own in (("A", SPREAD, learned_a, only_a), ("B", LARGEST, learned_b, only_b)):
        model = make_pipeline(StandardScaler(), LogisticRegression())
        model.fit(data.data[learned, columns], malignant[learned])
        rows = np.concatenate([common, own])
        features = data.data[rows, columns]
        names = data.feature_names[columns].tolist()
        scores = model.decision_function(features)
        tables.append(Observations(scores, features, ids=rows, name=f"clinic {name}", feature_names=names))
    return _example(tables[0], tables[1:], malignant[np.concatenate([common, only_a])], labels, most=100)


def load_digits(view: str = "fourier", *, labels: int = 200, seed: int = 0) -> Example[RankLabels]:
    """Load six rankers of handwritten digits, one of which is refined by the five others.

    The images are real (1,797, of 8 x 8 pixels). A ranker puts the digits in order, 0 below 1 below 2. Each ranker has
    a view of its own: it sees other features, and has learned from 200 digits of its own by kernel ridge regression.
    The references know other digits; 200 digits are known on both sides.

    Parameters
    ----------
    view : str
        Whose ranker is refined: fourier, profile, karhunen, pixels, zernike or gradient.
    labels : int
        How many digits of the main table have a known truth, at most 200.
    seed : int
        Of the split.

    Returns
    -------
    Example
        Ids are the rows of scikit-learn's digits.

    Examples
    --------
    >>> import manifuse as mf
    >>> digits = mf.datasets.load_digits(labels=50)
    >>> digits.main
    Observations('fourier': 798 rows, 40 features)
    >>> [reference.name for reference in digits.references]
    ['profile', 'karhunen', 'pixels', 'zernike', 'gradient']
    """
    views, truth = digit_views()
    return two_sides("digits", {name: (table, truth) for name, table in views.items()}, view, labels=labels, seed=seed)


def load(
    name: str, task: str | None = None, *, labels: int = 200, seed: int = 0, folder: Path | str | None = None
) -> Example[RankLabels]:
    """Load a data set by its name, as one task that the other tasks refine.

    The digits come with this package. The package ``manifuse-study`` adds the data sets of the result tables, by an
    entry point of the group ``manifuse.datasets``: a function with these parameters. Predictors are trained as in
    `load_digits`. The result tables choose among several rankers, so their numbers differ a little.

    Parameters
    ----------
    name : str
        ``"digits"``, or a name that ``manifuse datasets list`` shows.
    task : str, optional
        Which predictor is refined; by default that of the first task.
    labels : int
        How many main rows have a known truth, at most 200.
    seed : int
        Of the split.
    folder : path, optional
        The data folder; by default that of the variable ``MANIFUSE_DATA``.

    Returns
    -------
    Example

    Raises
    ------
    InputError
        If there is no such data set or task, its files are missing, or the package that has it is not installed.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.datasets.load("digits", "zernike").main
    Observations('zernike': 798 rows, 25 features)
    """
    if name == "digits":
        return load_digits(task or "fourier", labels=labels, seed=seed)
    entry = next(iter(entry_points(group=GROUP)), None)
    if entry is None:
        raise InputError(
            f"{name!r} came, but only the data set 'digits' comes with manifuse; for those of the result tables, in a "
            "checkout, run: pip install ./study"
        )
    found: Example[RankLabels] = entry.load()(name, task, labels=labels, seed=seed, folder=folder)
    return found


def two_sides(
    name: str,
    tasks: Mapping[str, tuple[FloatArray, FloatArray]],
    task: str | None,
    *,
    labels: int,
    seed: int,
) -> Example[RankLabels]:
    """Split rows at random into two sides, train a predictor of each task, and let the others refine one of them.

    Parameters
    ----------
    name : str
        Of the data set, for messages.
    tasks : mapping of str to a pair of (n, d) and (n,) arrays
        Features and truth of each task, whose rows are the same things.
    task : str or None
        Which predictor is refined; None: that of the first task.
    labels, seed : int
        As of `load`.

    Raises
    ------
    InputError
        If there is no such task, or there are too few rows.
    """
    task = next(iter(tasks)) if task is None else task
    look_up(task, tasks, kind=f"task of {name} named")
    rng = np.random.default_rng(whole_number("seed", seed))
    order = rng.permutation(len(tasks[task][1]))
    if len(order) < PAIRS + 2 * (TRAINING + LEAST_TEST):
        raise InputError(f"{name} has {len(order)} rows, which are too few for two sides; choose another data set.")
    common, half, other = np.split(order, [PAIRS, PAIRS + (len(order) - PAIRS) // 2])
    tables = []
    for each in (task, *(each for each in tasks if each != task)):
        features, truth = tasks[each]
        is_main = each == task
        scores = _predict(features, truth, half[:TRAINING] if is_main else rng.permutation(other)[:TRAINING])
        # The main table has no rows that its predictor learned from: there its scores are too good.
        rows = np.concatenate([common, half[TRAINING:] if is_main else other])
        tables.append(Observations(scores[rows], features[rows], ids=rows, name=each))
    truth = tasks[task][1][np.concatenate([common, half[TRAINING:]])]
    return _example(tables[0], tables[1:], truth, labels, most=200)


def _predict(features: FloatArray, truth: FloatArray, learned: IndexArray) -> FloatArray:
    """Learn the truth (n,) of some rows from features (n, d) by kernel ridge regression, and predict all, (n,)."""
    table, level = standardise(features), truth[learned].mean()
    ridge = KernelRidge(kernel="rbf", alpha=PENALTY, gamma=1.0 / table.shape[1])
    return np.asarray(ridge.fit(table[learned], truth[learned] - level).predict(table) + level)


def _example(
    main: Observations, references: list[Observations], truth: FloatArray, labels: int, *, most: int
) -> Example[RankLabels]:
    """Put an example together; the common rows come first, then those with labels."""
    shared = int(np.isin(main.keys, references[0].keys).sum())
    most = min(most, len(main) - shared - LEAST_TEST)
    labels = whole_number("labels", labels, most)
    known = np.arange(shared, shared + labels)
    given = RankLabels(main.keys[known], truth[known]) if labels else None
    return Example(main, tuple(references), given, truth, np.arange(shared + labels, len(main)))
