"""Labelled: the rows of labels are found among the main rows, and the measure (a `Score`) is chosen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from manifuse.errors import InputError, demand, warn
from manifuse.evidence.chosen_labels import chosen_by_class
from manifuse.evidence.class_score import LogLoss, risks_of
from manifuse.evidence.rankings import GradedRanking, PairedRanking
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.grid import first_of, many
from manifuse.kernels.arrays import BoolArray, FloatArray, never_falls
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import alignment
from manifuse.tables.drawing_order import order_of
from manifuse.tables.far_values import MISSING, warn_of_far, warn_of_miswritten
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.pairing import more_if_spelled

#: Classes that a message names.
NAMED = 3

#: Beside 0 and 1, such a label may stand for an unknown truth.
UNKNOWN = {-1.0, *(float(sign * each) for each in (9, *MISSING) for sign in (1, -1))}

#: What says all labels of so many rows, of which so many have not the commonest label, may be made of the truth.
SAID, OTHERS_SAID = 20, 3

#: Labels that correlate more with own scores are copies of these, rounded perhaps. No predictor is so good.
COPIED = 1.0 - 1e-5


def score_of(labels: RankLabels | ClassLabels, main: Observations, *, regression: bool) -> Score:
    """Make the score of labels: find their rows among the main rows, and choose the measure.

    Raises
    ------
    InputError
        If the main table has no id of a label, labels are not of its kind, or a regression has ordered pairs or too
        large values as labels.
    """
    if main.classes is not None:
        return _score_of_classes(labels, main)
    if isinstance(labels, ClassLabels):
        raise InputError(
            f"Classes came as labels, but {main.name} has one score a row; give `RankLabels`, or a main table with "
            "the probabilities of `classes`."
        )
    demand(RankLabels, labels)
    labels = _of_rows(labels, main)
    rows = locate(labels.keys, main.keys)[0]
    # In an order that rows give, so that labels in another order give the same result to the last bit.
    order = order_of(main, rows)
    if labels.grades is None:
        places = np.argsort(order)
        order = np.lexsort([places[labels.worse], places[labels.better]])
        if regression:
            raise InputError("Ordered pairs came as labels of a regression, which needs values; give ids and labels.")
        return PairedRanking.of(rows[labels.better[order]], rows[labels.worse[order]])
    rows, grades = rows[order], labels.grades[order]
    _warn_of_strange(grades, main.keys[rows], regression=regression)
    if regression and main.scale == "probability":
        raise InputError(
            "Probabilities came with a scale for a regression, which meets the labels' values by itself; leave "
            "`scale` out."
        )
    if not regression:
        return GradedRanking(rows, grades)
    # Errors are differences of targets and scores, and are squared.
    most = np.sqrt(np.finfo(np.float64).max / 8.0 / len(main))
    for what, values in (("The labels leave", grades), (f"The scores of {main.name} leave", main.scores)):
        if not np.abs(values).max() < most:
            raise InputError(f"{what} the range of numbers when squared; give them in other units.")
    least = np.sqrt(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
    if 0 < np.ptp(grades) < least:
        raise InputError(
            f"The labels differ by less than {least:.0e}, which cannot be squared; give them in other units."
        )
    return SquaredError(rows, grades)


def _score_of_classes(labels: RankLabels | ClassLabels, main: Observations) -> Score:
    """Make the score of labels of classes; leave out those of classes that the main table does not have."""
    assert main.classes is not None, "it has classes"
    if not isinstance(labels, ClassLabels):
        came = type(labels).__name__
        raise InputError(f"{came} came for {main.name}, which has classes; give the labels as `ClassLabels`.")
    rows, known = locate(labels.keys, main.keys)
    if not known.all():
        _warn_of_missing(labels.keys, known, main, "label", known)
    places = main.classes.places_of(labels.names)
    strange = known & (places < 0)
    usable = known & (places >= 0)
    if strange.any():
        names = sorted(set(labels.names[strange].tolist()))
        of = "1 label is of a class" if strange.sum() == 1 else f"{strange.sum()} labels are of classes"
        said = f"{of} that {main.name} does not have ({first_of(names, NAMED)})"
        they = "it is" if strange.sum() == 1 else "they are"
        alike = main.classes.spelled_otherwise(names)
        if alike:
            ours, theirs = next(iter(alike.items()))
            raise InputError(f"{said}, but it has {ours!r}, and {theirs!r} came; write them alike.")
        if not usable.any():
            raise InputError(f"{said}; name them as it does ({first_of(main.classes.names, NAMED)}).")
        warn("unusable_labels", f"{said}; {they} left out, and no accuracy counts these rows.")
    if len(set(places[usable].tolist())) < 2:
        raise InputError("The labels that can be used are all of one class; give labels of two or more.")
    order = np.flatnonzero(usable)[order_of(main, rows[usable])]
    score = LogLoss(rows[order], places[order], main.classes)
    # Rows of a group do not say one by one how frequent classes are.
    return score if labels.groups is not None else chosen_by_class(score, main.scores)


def demand_teachable(score: Score, main: Observations, references: Sequence[Observations]) -> None:
    """Refuse labels that can neither order rows, without features and references, nor calibrate or give units."""
    is_order = isinstance(score, GradedRanking | PairedRanking) and risks_of(score, main.scale) is None
    if is_order and main.table is None and not references:
        raise InputError(
            f"{main.name} has no features and no reference came, so labels cannot change the order of its scores; "
            "give features or a reference."
        )


def warn_of_truth(score: Score, main: Observations, references: Sequence[Observations]) -> None:
    """Warn of labels that are own scores, and of features and references that say all labels, or their order."""
    if not isinstance(score, GradedRanking | SquaredError | LogLoss):
        return
    truth, is_named = np.asarray(score.truth), isinstance(score, LogLoss)
    own, several = main.scores[score.rows], main.classes is None and len(np.unique(truth)) >= SAID
    if several and abs(alignment(own, truth.astype(np.float64))) > COPIED:
        warn(
            "truth_in_scores",
            f"The {len(truth):,} labels are the scores of {main.name} but for their units; check that they are the "
            "truth.",
        )
    orders, features = _orders_of(truth, is_named=is_named), () if main.table is None else main.table[score.rows].T
    for place, feature in enumerate(features):
        if _say(feature, orders, is_named=is_named) or any(_is_rounded(feature, order) for order in orders):
            which = str(place) if main.feature_names is None else repr(main.feature_names[place])
            warn(
                "truth_in_features",
                f"The feature {which} of {main.name} says the label of all {len(truth):,} labelled rows; if it is not "
                "known before the truth is, leave it out (`drop`).",
            )
    for reference in references:
        places, known = locate(main.keys[score.rows], reference.keys)
        # A good reference may be right in all rows where labels have few values.
        many = not is_named and len(np.unique(truth[known])) >= SAID
        if many and _say(reference.scores[places[known]], _orders_of(truth[known], is_named=False), is_named=False):
            warn(
                "truth_in_reference",
                f"{reference.name} puts all {known.sum():,} labelled rows that it knows in the order of their labels, "
                "so labels do not show what it is worth elsewhere; if it is made of them, leave it out.",
            )


def _orders_of(truth: NDArray[Any], *, is_named: bool) -> list[FloatArray]:
    """Ranks of the truth (l,), upwards and downwards, or its classes; nothing if too few could agree."""
    if len(truth) < SAID or len(truth) - np.unique(truth, return_counts=True)[1].max() < OTHERS_SAID:
        return []
    return [truth.astype(np.float64)] if is_named else [rankdata(truth), rankdata(-truth)]


def _say(values: FloatArray, orders: Sequence[FloatArray], *, is_named: bool) -> bool:
    """Whether values (l,) have one of these orders or, if the truth names classes, say which class it is.

    Scores of classes (l, c) have no order.
    """
    if not orders:
        return False
    if not is_named:
        return values.ndim == 1 and any(np.array_equal(rankdata(values), order) for order in orders)
    said, named, both = (len(np.unique(each, axis=0)) for each in (values, orders[0], np.c_[values, orders[0]]))
    return said == named == both


def _is_rounded(values: FloatArray, order: FloatArray) -> bool:
    """Whether values (l,) have this order but for ties, as they do if one of the two was rounded."""
    enough = min(len(np.unique(values)), len(np.unique(order))) >= SAID
    return enough and never_falls(order, values)


def _warn_of_strange(grades: FloatArray, keys: NDArray[np.str_], *, regression: bool) -> None:
    """Warn of labels (l,) of rows with ``keys`` that may stand for an unknown truth, or are far from the rest."""
    found = {*grades.tolist()}
    others = found - {0.0, 1.0}
    if len(found) == 3 and len(others) == 1 and others <= UNKNOWN:
        said = f"The labels are 0, 1 and {min(others):.0f}, which is taken as a truth"
        warn("unknown_in_labels", f"{said}; if it means unknown, leave it out.")
    elif regression:
        warn_of_far("labels", grades, keys)
    else:
        warn_of_miswritten("labels", grades)


def groups_of(labels: RankLabels | ClassLabels, main: Observations, score: Score) -> dict[int, str] | None:
    """The group of every labelled row of a table; None if labels have none."""
    if labels.groups is None:
        return None
    places, _ = locate(main.keys[score.rows], labels.keys)
    return dict(zip(score.rows.tolist(), labels.groups[places].tolist(), strict=True))


def _of_rows(labels: RankLabels, main: Observations) -> RankLabels:
    """Leave out labels, and ordered pairs, of ids that the main table does not have; warn if there are any."""
    _, known = locate(labels.keys, main.keys)
    if known.all():
        return labels
    graded = labels.grades is not None
    usable = known if graded else known[labels.better] & known[labels.worse]
    _warn_of_missing(labels.keys, known, main, "label" if graded else "ordered pair", usable)
    if labels.grades is not None:
        return RankLabels(labels.keys[known], labels.grades[known])
    return RankLabels.from_pairs(labels.keys[labels.better[usable]], labels.keys[labels.worse[usable]])


def _warn_of_missing(
    keys: NDArray[np.str_], known: BoolArray, main: Observations, what: str, usable: BoolArray
) -> None:
    """Warn of labels of ids (k,) that the main table does not all have, or refuse labels of which none is usable."""
    missing = keys[~known]
    kept, left = int(usable.sum()), int((~usable).sum())
    are, they = ("is of an id", "it is") if left == 1 else ("are of ids", "they are")
    dropped = ", or whose rows were left out of it" if len(main.rows) and main.rows[-1] >= len(main) else ""
    example = f"first: {str(missing[0])!r}, where {main.name} has ids like {str(main.keys[0])!r}"
    more = more_if_spelled(main, "the labels", keys, int(known.sum()))
    example += f"; {more}" if more else ""
    if not kept:
        what = "No label is of an id" if what == "label" else "No ordered pair is of two ids"
        raise InputError(f"{what} that {main.name} has ({example}); give labels of its rows.")
    warn(
        "unknown_labels",
        f"{many(left, what)} {are} that {main.name} does not have{dropped} ({example}); {they} left out, and the "
        f"others ({kept:,}) are used.",
    )
