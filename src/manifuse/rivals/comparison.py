"""Comparison: `refine` and its rivals, judged by labels that are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import KFold

from manifuse.errors import InputError, demand
from manifuse.grid import many
from manifuse.machine import libraries_in_one_thread
from manifuse.rivals.combining import mean_of_scores
from manifuse.rivals.imputation import FOLDS
from manifuse.rivals.methods import (
    Rival,
    Seed,
    graded,
    imputed_scores,
    learn_from_labels,
    seed_for,
    smooth_alone,
    spread,
    stacked_scores,
)
from manifuse.run.refine import refine
from manifuse.tables.containers import frame_of, to_floats
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.user_tables import FrameColumns

#: With fewer labels a fold says nothing.
LEAST_LABELS = 50


def compare(
    main: Any,
    references: Any,
    labels: Any,
    rng: Seed = 0,
    *,
    id: str = "id",  # noqa: A002
    score: str = "score",
    label: str = "label",
    drop: Sequence[str] = (),
    others: Mapping[str, Rival] = MappingProxyType({}),
    library: Any = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Any:
    """Compare `refine` with its rivals on your own labels, by cross-validation.

    Every fifth of the labels in turn is held out, and judges what each method makes of the others. Held-out rows of
    all fifths are compared with each other, by their ranks among all rows.

    Parameters
    ----------
    main : Observations or data frame
        With features.
    references : Observations or data frame, or sequence of these
        Without any, rivals that need references are left out.
    labels : RankLabels or data frame
        A label for each of at least 50 rows.
    rng : numpy.random.Generator or int, optional
        Draws the folds, and is the ``rng`` of every method.
    id, score, label, drop
        Columns of data frames, as of `refine`.
    others : mapping of str to callable, optional
        Methods of your own by their names, such as your model trained again:
        ``method(main, references, labels, rng)`` returns predictions (n,) for all main rows. It must not use other
        labels than those that it is given.
    library : module, optional
        As of `Refinement.to_frame`.
    tell : callable, optional
        Is given how many times a method was fitted, and how many times one will be.

    Returns
    -------
    data frame
        A row for each method, the best first: ``method``; ``accuracy``, the ranking accuracy on held-out labels in
        [0, 1]; ``minus_refine``, the same minus that of `refine`; and the ``standard_error`` of this difference,
        paired over the held-out rows. It leaves out what other labels to learn from would change. Methods whose
        difference is within two standard errors cannot be told apart.

    Raises
    ------
    InputError
        If there are fewer than 50 labels, they are ordered pairs, or all labels of a fold are equal; or if a method of
        yours has the name of another, or does not return a finite prediction for each main row.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics(labels=50)
    >>> found = mf.rivals.compare(clinics.main, [], clinics.labels)
    >>> found.columns, len(found)
    (['method', 'accuracy', 'minus_refine', 'standard_error'], 5)
    """
    demand(Mapping, others)
    main, references, labels = FrameColumns(id, score, label=label, drop=drop).read(main, references, labels)
    measure, seed = graded(main, labels, "comparing needs"), seed_for(rng)
    if len(measure.rows) < LEAST_LABELS:
        raise InputError(
            f"{many(len(measure.rows), 'label')} came, but comparing needs at least {LEAST_LABELS}; give more."
        )
    methods = _methods(others, main, references, seed)
    places = {name: np.empty(len(measure.rows)) for name in methods}
    for fold, (train, test) in enumerate(KFold(FOLDS, shuffle=True, random_state=seed).split(measure.rows)):
        if len(np.unique(measure.grades[test])) < 2 or len(np.unique(measure.grades[train])) < 2:
            raise InputError("All labels of a fold are equal; give more labels of each value.")
        known = RankLabels(main.keys[measure.rows[train]], measure.grades[train])
        for done, (name, method) in enumerate(methods.items(), fold * len(methods) + 1):
            with libraries_in_one_thread():
                made = method(main, references, known, seed)
            predictions = to_floats(made, what=f"What {name!r} returned", dimensions=1)
            if predictions.shape != main.scores.shape or not np.isfinite(predictions).all():
                raise InputError(f"{name!r} must return a finite prediction for each of {len(main)} main rows.")
            places[name][test] = rankdata(predictions)[measure.rows[test]]
            tell(done, FOLDS * len(methods))
    gains = {name: measure.gain(places["refine"], each) for name, each in places.items()}
    names = sorted(gains, key=lambda name: -gains[name].value)
    return frame_of(
        {
            "method": names,
            "accuracy": [measure.measured(places[name]) for name in names],
            "minus_refine": [gains[name].value for name in names],
            "standard_error": [gains[name].standard_error for name in names],
        },
        library or main.origin.frames,
    )


def _methods(
    others: Mapping[str, Rival], main: Observations, references: Sequence[Observations], seed: int
) -> dict[str, Rival]:
    """All methods by their names; those that need references only with references, which are imputed once."""
    methods: dict[str, Rival] = {
        "refine": lambda main, references, labels, _: refine(main, references, labels, rng=seed).scores,
        "alone": lambda *_: main.scores,
        "smooth_alone": smooth_alone,
        "spread": spread,
        "learn_from_labels": learn_from_labels,
    }
    if references:
        imputed = cache(lambda: imputed_scores(main, references, seed))
        methods |= {
            "impute_and_average": lambda *_: mean_of_scores(imputed()),
            "impute_and_stack": lambda main, _, labels, __: stacked_scores(main, imputed(), labels),
        }
    taken = [name for name in others if name in methods]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of another method; give yours another name.")
    return {**methods, **others}
