"""Digit halves: two classifiers of handwritten digits, of which each sees one half of every image."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from manifuse.datasets.example import Example, whole_number
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.labels import ClassLabels
from manifuse.tables.observations import Observations

#: Rows that the main classifier learned from, that the reference learned from, and that both know.
TRAINED, THEIRS_TRAINED, PAIRS = 100, 400, 150

#: Labels at most, so that rows to judge by are left.
MOST_LABELS = 400

#: Iterations of a logistic regression.
ITERATIONS = 1000


def load_digit_halves(*, labels: int = 0, seed: int = 0) -> Example[ClassLabels]:
    """Load two classifiers of handwritten digits, one of the left half of each image and one of the right half.

    The digits are real (1,797, scikit-learn). The main classifier, a logistic regression, has learned from 100 images,
    and the reference from 400 others. 150 images are common. The reference gives its probabilities of these, and
    nothing else.

    Parameters
    ----------
    labels : int
        How many main images, that the main classifier did not learn from, have a known class; at most 400.
    seed : int
        Of the split.

    Returns
    -------
    Example

    Examples
    --------
    >>> import manifuse as mf
    >>> halves = mf.datasets.load_digit_halves()
    >>> result = mf.refine(halves.main, halves.references, rng=0)
    >>> halves.accuracy(result.predictions) > halves.accuracy(halves.main.came) + 0.05
    True
    """
    halves = draw_halves(labels=labels, seed=seed)
    (whole,) = halves.references
    assert whole.classes is not None, "it is a classifier"
    common, names = np.isin(whole.keys, halves.main.keys), whole.classes.names
    asked = Observations(whole.came[common], ids=whole.keys[common], classes=names, name=whole.name)
    return replace(halves, references=(asked,))


def draw_halves(*, labels: int, seed: int) -> Example[ClassLabels]:
    """Return the example of `load_digit_halves` with all rows and features of the reference, as the study has it."""
    rng = np.random.default_rng(whole_number("seed", seed))
    labels = whole_number("labels", labels, MOST_LABELS)
    images, digits = load_digits(return_X_y=True)
    left, right = (images.reshape(-1, 8, 2, 4)[:, :, side].reshape(len(images), -1) for side in (0, 1))
    ours, theirs = np.array_split(rng.permutation(len(images)), 2)
    pairs, trained = rng.permutation(len(ours))[:PAIRS], rng.permutation(len(ours))[:TRAINED]
    main = _classify("left halves", left, digits, ours[trained], ours)
    known, learned = np.concatenate([theirs, ours[pairs]]), rng.permutation(theirs)[:THEIRS_TRAINED]
    reference = _classify("right halves", right, digits, learned, known)
    free, truth = np.setdiff1d(np.arange(len(ours)), trained), digits[ours].astype(np.str_)
    drawn = rng.permutation(free)[:labels]
    given = ClassLabels(main.keys[drawn], truth[drawn]) if labels else None
    return Example(main, (reference,), given, truth, np.setdiff1d(free, np.concatenate([pairs, drawn])))


def _classify(
    name: str, features: FloatArray, digits: FloatArray, trained: IndexArray, rows: IndexArray
) -> Observations:
    """Train a logistic regression on some rows, and give its probabilities of others."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=ITERATIONS))
    model.fit(features[trained], digits[trained])
    # Text, as the truth is.
    names = model.classes_.astype(np.str_)
    return Observations(model.predict_proba(features[rows]), features[rows], ids=rows, classes=names, name=name)
