"""Comparison: `refine` and its rivals, judged by labels that are held out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold

from manifuse.errors import InputError, demand, warn
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.labelled import groups_of
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.squared_error import SquaredError
from manifuse.grid import told_apart
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.machine import libraries_in_one_thread
from manifuse.rivals.imputation import FOLDS, LEAST_TO_LEARN
from manifuse.rivals.methods import (
    Labels,
    Rival,
    RowScore,
    Seed,
    averaged_scores,
    imputed_scores,
    learn_from_labels,
    seed_for,
    smooth_alone,
    spread,
    stacked_scores,
    taught_by,
)
from manifuse.rivals.of_classes import LEAST
from manifuse.run.method import JointDiffusion, checked_method, with_parameters
from manifuse.run.refine import blocks_of_labels, refine
from manifuse.tables.containers import frame_of, to_floats
from manifuse.tables.frame_reading import ClassColumns
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.scales import Scale
from manifuse.tables.user_tables import FrameColumns

#: With fewer labels a fold says nothing.
LEAST_LABELS = 50

#: `refine` holds out groups among those that it learns from.
LEAST_GROUPS = 3

#: Methods that need features of the main table, and those that need them if references lack main rows.
NEED_FEATURES = ("spread", "learn_from_labels", "smooth_alone")
IMPUTING = ("impute_and_average", "impute_and_stack")

#: Methods that do not learn the units of the labels.
IN_OWN_UNITS = ("alone", "smooth_alone", "impute_and_average")


def compare(
    main: Any,
    references: Any,
    labels: Any,
    rng: Seed = 0,
    *,
    id: str = "id",  # noqa: A002
    score: str = "score",
    label: str = "label",
    group: str | None = None,
    drop: Sequence[str] = (),
    classes: ClassColumns = None,
    scale: Scale | None = None,
    others: Mapping[str, Rival] = MappingProxyType({}),
    library: Any = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    method: JointDiffusion | None = None,
    **hyperparameters: Any,
) -> Any:
    """Compare `refine` with its rivals on your own labels, by cross-validation.

    Every fifth of the labels in turn is held out, and judges what each method makes of the others. Labels of one group
    are held out together, and so are those of a run or region of rows that `refine` would hold out. Held-out rows of
    all fifths are compared with each other, by their ranks among all rows. Of a regression, scores of methods that
    know no units are brought into those of the labels by a line. Of classes, smoothing of scores is left out, and
    references with other classes cannot be averaged.

    Parameters
    ----------
    main : Observations or data frame
        Without features, rivals that need them are left out.
    references : Observations or data frame, or sequence of these
        Without any, rivals that need references are left out; so are those that impute them, if one has fewer than ten
        pairs.
    labels : RankLabels, ClassLabels or data frame
        A label for each of at least 50 rows.
    rng : numpy.random.Generator or int, optional
        Draws the folds, and is the ``rng`` of every method.
    id, score, label, group, drop, classes, scale
        Of data frames, as of `refine`.
    others : mapping of str to callable, optional
        Methods of your own by their names, such as your model trained again:
        ``method(main, references, labels, rng)`` returns predictions (n,) for all main rows, or probabilities (n, k)
        of the main classes in their order. It must not use other labels than those that it is given.
    library : module, optional
        As of `Refinement.to_frame`.
    tell : callable, optional
        Is given how many times a method was fitted, and how many times one will be.
    method, **hyperparameters
        Of `refine`. Its ``task`` says what all methods predict.

    Returns
    -------
    data frame
        A row for each method, the best first: ``method``; ``accuracy`` on held-out labels, in [0, 1]: the ranking
        accuracy, or of classes how often the most probable one is right; or of a regression ``rmse``, the root mean
        squared error; ``minus_refine``, the same minus that of `refine`; and the ``standard_error`` of this
        difference, paired over the held-out rows, or over what was held out together. Of classes, there is
        ``log_loss``, too. The standard error of rankings and classes leaves out what other labels to learn from would
        change. Methods whose difference is within two standard errors cannot be told apart.

    Raises
    ------
    InputError
        If there are fewer than 50 labels, they are ordered pairs, or those that are left while a fold is held out are
        all equal or too few; if a method of yours has the name of another, or does not return a finite prediction for
        each main row; or if a hyperparameter is unknown or out of range.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics(labels=50)
    >>> found = mf.rivals.compare(clinics.main, [], clinics.labels)
    >>> found.columns, len(found)
    (['method', 'accuracy', 'minus_refine', 'standard_error'], 5)
    """
    demand(Mapping, others)
    names = FrameColumns(id, score, classes, label, group, drop, scale)
    main, references, labels = names.read(main, references, labels)
    method = with_parameters(checked_method(method), hyperparameters)
    regression = method.is_regression
    measure = taught_by(main, labels, "comparing needs", least=LEAST_LABELS, regression=regression)
    _warn_of_unjudged(measure)
    seed = seed_for(rng)
    methods = _methods(method, others, main, references, seed)
    found: dict[str, list[FloatArray]] = {name: [] for name in methods}
    of_rows = groups_of(labels, main, measure)
    groups = None if of_rows is None else np.array([of_rows[row] for row in measure.rows.tolist()])
    blocks = blocks_of_labels(main, labels, measure, method, seed)
    if groups is not None and len(np.unique(groups)) < LEAST_GROUPS:
        raise InputError(
            f"Labels of {len(np.unique(groups))} groups came, but comparing needs {LEAST_GROUPS}, as methods learn "
            "from two or more and are judged by another; give other groups, or leave them out."
        )
    count = min(FOLDS, blocks.block_count)
    drawn = GroupKFold(count, shuffle=True, random_state=seed)
    folds: list[tuple[IndexArray, IndexArray]] = list(drawn.split(blocks.blocks, groups=blocks.blocks))
    for fold, (train, test) in enumerate(folds):
        _demand_taught(measure, train)
        known = _labels_of(main, measure, groups, train)
        for done, (name, solve) in enumerate(methods.items(), fold * len(methods) + 1):
            with libraries_in_one_thread():
                made = _checked(solve(main, references, known, seed), name, main)
            found[name].append(_judged(measure, made, name, train)[measure.rows[test]])
            tell(done, len(folds) * len(methods))
    order = np.argsort(np.concatenate([test for _, test in folds]))
    if isinstance(measure, SquaredError):
        # What was learned in different folds is alike, which errors of targets count.
        numbers = np.repeat(np.arange(count), [len(test) for _, test in folds])[order]
        blocks = replace(blocks, numbers=numbers[None])
    judged = {name: np.concatenate(parts)[order] for name, parts in found.items()}
    return frame_of(_table_of(measure, judged, blocks), library or main.origin.frames)


def _warn_of_unjudged(score: RowScore) -> None:
    """Warn of classes without a label, of which no row is judged."""
    if not isinstance(score, LogLoss):
        return
    names = [name for place, name in enumerate(score.classes.names) if place not in score.truth]
    if names:
        warn(
            "unjudged_classes",
            f"No label is of {told_apart(names)}, so no row of {'it' if len(names) == 1 else 'them'} is judged; "
            "methods that never predict what has no label look better than they are.",
        )


def _demand_taught(score: RowScore, kept: IndexArray) -> None:
    """Refuse labels if those that are left to learn from while the others are held out are few, or all equal."""
    if len(kept) < LEAST_TO_LEARN:
        raise InputError(
            f"While one group of labels is held out, {len(kept)} are left, but methods learn from at least "
            f"{LEAST_TO_LEARN}; give more labels of other groups, or leave groups out."
        )
    if len(np.unique(score.truth[kept])) == 1:
        raise InputError("All labels but those of one fold are equal; give more labels of each value.")


def _labels_of(main: Observations, score: RowScore, groups: NDArray[np.str_] | None, kept: IndexArray) -> Labels:
    """Some of the labels, to learn from."""
    keys, truth, named = main.keys[score.rows[kept]], score.truth[kept], None if groups is None else groups[kept]
    if isinstance(score, LogLoss):
        return ClassLabels(keys, np.array(score.classes.names)[truth], named)
    return RankLabels(keys, truth, named)


def _checked(made: Any, name: str, main: Observations) -> FloatArray:
    """Refuse predictions of another shape, or that are not finite."""
    shape = (len(main),) if main.classes is None else (len(main), len(main.classes))
    predictions = to_floats(made, what=f"What {name!r} returned", dimensions=len(shape))
    if predictions.shape != shape or not np.isfinite(predictions).all():
        raise InputError(f"{name!r} must return a finite prediction for each of {len(main)} main rows.")
    return predictions


def _judged(score: RowScore, made: FloatArray, name: str, train: IndexArray) -> FloatArray:
    """What is judged of predictions for all main rows.

    Of classes, log-ratios; of rankings, ranks among all rows; of a regression, values in units of the labels, into
    which a line brings predictions in other units.
    """
    if isinstance(score, LogLoss):
        return score.classes.log_ratios(np.log(np.maximum(made, LEAST)))
    if isinstance(score, GradedRanking):
        return np.asarray(rankdata(made))
    if name not in IN_OWN_UNITS:
        return made
    line = LinearRegression().fit(made[score.rows[train], None], score.truth[train])
    return np.asarray(line.predict(made[:, None]))


def _table_of(score: RowScore, judged: Mapping[str, FloatArray], blocks: Folds) -> dict[str, Sequence[Any]]:
    """A row for each method, the best first: its measures at all labelled rows, and how they differ from `refine`."""
    compared = score.gain_in_accuracy if isinstance(score, LogLoss) else score.gain
    gains = {name: compared(judged["refine"][None], each[None], blocks) for name, each in judged.items()}
    # Its difference from itself is known.
    gains["refine"] = replace(gains["refine"], standard_error=0.0)
    names = sorted(gains, key=lambda name: -gains[name].value)
    sign = -1.0 if isinstance(score, SquaredError) else 1.0
    measures = {score.measure: [score.measured(judged[name]) for name in names]}
    if isinstance(score, LogLoss):
        measures = {"accuracy": [float(score.is_right(judged[name]).mean()) for name in names], **measures}
    first, *more = measures
    return {
        "method": names,
        first: measures[first],
        "minus_refine": [sign * gains[name].value + 0.0 for name in names],
        "standard_error": [gains[name].standard_error for name in names],
        **{name: measures[name] for name in more},
    }


def _methods(
    ours: JointDiffusion,
    others: Mapping[str, Rival],
    main: Observations,
    references: Sequence[Observations],
    seed: int,
) -> dict[str, Rival]:
    """All methods by their names; those that need references only with references, which are imputed once."""
    methods: dict[str, Rival] = {
        "refine": partial(_refined, method=ours),
        "alone": lambda *_: main.in_scale(main.scores),
        "spread": spread,
        "learn_from_labels": partial(learn_from_labels, regression=ours.is_regression),
    }
    if main.classes is None:
        methods["smooth_alone"] = smooth_alone
    shared = [int(np.count_nonzero(locate(main.keys, each.keys)[1])) for each in references]
    is_known = all(count == len(main) for count in shared)
    fewest = int(np.argmin(shared)) if shared else 0
    if main.table is None:
        need = [*(name for name in NEED_FEATURES if name in methods), *(() if is_known else IMPUTING)]
        methods = {name: each for name, each in methods.items() if name not in need}
        said = f"{main.name} has no features, so methods that need them are left out ({', '.join(need)})."
        warn("no_features", said)
    if not is_known and main.table is not None and shared[fewest] < LEAST_TO_LEARN:
        said = f"{references[fewest].name} shares only {shared[fewest]} ids with {main.name}"
        warn("few_pairs", f"{said}, so methods that impute references are left out.")
    elif references and (is_known or main.table is not None):
        imputed = cache(lambda: imputed_scores(main, references, seed))
        methods |= {
            "impute_and_average": lambda *_: averaged_scores(imputed()),
            "impute_and_stack": lambda main, _, labels, __: stacked_scores(main, imputed(), labels),
        }
    taken = [name for name in others if name in methods]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of another method; give yours another name.")
    return {**methods, **others}


def _refined(
    main: Observations, references: Sequence[Observations], labels: Labels, seed: int, *, method: JointDiffusion
) -> FloatArray:
    """Refined scores, or probabilities of classes."""
    result = refine(main, references, labels, method, seed)
    return result.scores if main.classes is None else np.asarray(result.predictions)
