"""The front door: refine one predictor by others."""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.backends.torch import Torch
from manifuse.columns.run_order import blocks_of, start
from manifuse.errors import InputError, demand, hear_warnings, look_up, warn
from manifuse.evidence.found import Evidence
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.labelled import demand_teachable, groups_of, score_of, warn_of_truth
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.grid import figures
from manifuse.kernels.keys import locate
from manifuse.kernels.randomness import Stream, generator
from manifuse.kernels.sphere import is_constant
from manifuse.machine import libraries_in_one_thread
from manifuse.run.conclusion import conclude
from manifuse.run.method import JointDiffusion, checked_method, with_parameters
from manifuse.run.preparation import prepare
from manifuse.run.provenance import Provenance
from manifuse.run.refinement import Refinement
from manifuse.tables.frame_reading import ClassColumns
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse.tables.scales import Scale
from manifuse.tables.straightening import straightened_by
from manifuse.tables.table_checks import all_alike, warn_of_lacking_classes
from manifuse.tables.user_tables import FrameColumns, Labels

#: Scores of which the largest is above this, and at most 100, may be percentages.
PERCENTAGES = 50

#: The labels of a regression are in other units than the scores if their medians differ by this factor or more.
OTHER_UNITS = 10.0

#: A warning is given if a larger share of scores is outside of the range of labels.
MOST_OUTSIDE = 0.01


def refine(
    main: Any,
    references: Any = (),
    labels: Any = None,
    method: JointDiffusion | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    id: str = "id",  # noqa: A002
    score: str = "score",
    classes: ClassColumns = None,
    label: str = "label",
    group: str | None = None,
    drop: Sequence[str] = (),
    scale: Scale | None = None,
    backend: Backend | None = None,
    **hyperparameters: Any,
) -> Refinement:
    """Refine a predictor by what others say, even of other rows.

    Parameters
    ----------
    main : Observations or data frame
        The predictor to refine.
    references : Observations or data frame, or sequence of these
        Others' predictions. Rows with ids of the main table are its pairs. Their ids and scores are enough; features
        of the reference are optional. With labels there need be no reference.
    labels : RankLabels, ClassLabels or data frame, optional
        What is known of the truth of some main rows, which must not be rows that the main predictor was trained on.
        They teach, and decide whether the refinement is taken. A data frame has columns of ids and labels, and perhaps
        one of groups, or the columns ``better`` and ``worse``; rows without a label do not count. It may be the main
        table itself.
    id, score, classes, label, group : str
        The columns of all data frames. The ids, the scores, the probabilities of classes in their place, the labels
        and their groups; all others are features. ``classes`` as of `Observations.from_frame`, which also reads a
        table with names of its own. By default the groups are in ``group``, if there is such a column.
    drop : sequence of str
        Columns of data frames that are no features. The main table or a reference must have each.
    scale : {"score", "probability", "logits"}, optional
        What main scores of a data frame are, and those of classes in all of them; see `Observations`.
    method : JointDiffusion, optional
        All hyperparameters; the defaults are sound.
    rng : numpy.random.Generator or int, optional
        Draws folds, permutations and samples. The result has the seed.
    backend : Backend, optional
        Searches neighbours and keeps graphs. Default: the device of the tensors of ``main``, else this machine.
    **hyperparameters
        Single ones by their names, in place of those of ``method``: fields of `JointDiffusion`, such as
        ``same_target=True``, and with ``diffusion__`` before them fields of `Algorithm1`.

    Returns
    -------
    Refinement

    Raises
    ------
    InputError
        If the tables do not fit together, a hyperparameter is unknown or out of range, or the run would not fit into
        memory; the message says what to do.

    Notes
    -----
    The order is that of ``docs/method.md``; its diffusion is Algorithm 1 of [1]_, with the readings of
    ``docs/paper.md``.

    References
    ----------
    .. [1] Kim, K. I. and Chang, H. J. "Joint Manifold Diffusion for Combining Predictions on Decoupled
       Observations", CVPR 2019.

    Examples
    --------
    Twenty rows with known truth, a noisy predictor, and two references with less noise on the same rows, which are
    known to predict the same thing:

    >>> import numpy as np
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> truth, ids = np.arange(20.0), range(20)
    >>> ours = mf.Observations(truth + 6 * noise.standard_normal(20), ids=ids, name="ours")
    >>> others = [
    ...     mf.Observations(truth + 3 * noise.standard_normal(20), ids=ids, name=name) for name in ("A", "B")
    ... ]
    >>> result = mf.refine(ours, others, same_target=True, rng=0)
    >>> bool(np.corrcoef(result.predictions, truth)[0, 1] > np.corrcoef(ours.scores, truth)[0, 1])
    True
    """
    method = with_parameters(checked_method(method), hyperparameters, others=signature(refine).parameters)
    seed = seed_of(rng)
    with hear_warnings() as heard:
        columns = FrameColumns(id, score, classes, label, group, drop, scale)
        result = _refine_observations(*columns.read(main, references, labels), method, seed, backend)
    provenance = replace(result.provenance, classes=classes if isinstance(classes, str) else None)
    return replace(result, provenance=provenance, warnings=tuple(heard.values()))


def _refine_observations(
    main: Observations,
    references: Sequence[Observations],
    labels: Labels | None,
    method: JointDiffusion,
    seed: int,
    backend: Backend | None,
) -> Refinement:
    """Refine one predictor by others, in the order of ``docs/method.md``."""
    if main.classes is not None and method.is_regression:
        raise InputError(f"A regression came for {main.name}, which has classes and no values; leave `task` out.")
    warn_of_lacking_classes(main, references)
    if method.fitted_rows is None or len(main) <= method.fitted_rows:
        # A sample is a copy. Without one, the refinement would change with the array that came.
        main = main.with_own_features()
    problem = Problem.of(main, references, needed=labels is None)
    for name in method.ignored:
        look_up(name, {reference.name: reference for reference in references}, kind="reference named")
    measure = None if labels is None else score_of(labels, main, regression=method.is_regression)
    if measure is not None:
        demand_teachable(measure, main, references)
        warn_of_truth(measure, main, references)
    if backend is None:
        backend = Host() if main.device is None else Torch(main.device)
    demand(Backend, backend)
    fitted, measure = fitted_part(problem, measure, method, seed)
    whole = None if fitted is problem else problem
    # A regression compares main scores with labels in their units.
    fitted = fitted.straightened(with_main=not method.is_regression)
    # Of a table in a file, the other rows are refined where it is written.
    main = fitted.main if whole is None or main.is_unread else straightened_by(main, fitted.main.straightening)
    groups = None if labels is None or measure is None else groups_of(labels, fitted.main, measure)
    with libraries_in_one_thread():
        given = prepare(fitted, method, measure, seed, backend, groups, whole)
        result = Refinement.of(method, seed, main, *conclude(method, given), Provenance.of(main, references, labels))
    _warn_of_unrelated(result)
    if isinstance(measure, SquaredError):
        _warn_of_other_units(measure, result)
        _warn_of_label_range(measure, result)
    elif main.classes is None:
        _warn_of_range(result)
    return result


def _warn_of_unrelated(result: Refinement) -> None:
    """Warn if labels show a gain, and nothing is known of them: probabilities that say less miss wrong labels less."""
    measured = result.evidence.measured
    # A regression may surely learn the mean of the labels, and nothing else.
    if not result.accepted or measured is None or measured.gain.measure == "rmse":
        return
    if measured.unpredicted and measured.gain.is_certain:
        warn(
            "unrelated_labels",
            f"Neither the scores of {result.main.name} nor the refined ones say more of the labels than chance could; "
            "check that the labels have the right ids.",
        )


def _warn_of_range(result: Refinement) -> None:
    """Warn of scores that are in the range of probabilities or percentages, if the refined ones are not."""
    main = result.main
    most, remedy = 1, ""
    if PERCENTAGES < main.came.max() <= 100:
        most, remedy = 100, "divide them by 100 and "
    before, after = (
        bool(each.min() >= 0 and each.max() <= most) for each in (main.came, main.in_scale(result.refined.scores))
    )
    if before and not after:
        what = "probabilities" if most == 1 else "percentages"
        warn(
            "left_unit_range",
            f"The scores of {main.name} are in [0, {most}], and the refined ones are not; if yours are {what}, "
            f'{remedy}refine with scale="probability".',
        )


def _warn_of_other_units(labels: SquaredError, result: Refinement) -> None:
    """Warn of a regression whose scores are in other units than its labels."""
    main, evidence, truth = result.fitted_model.main, result.evidence, labels.truth
    own, known = float(np.median(main.scores[labels.rows])), float(np.median(truth))
    are_amounts = min(truth.min(), main.scores.min()) > 0
    if are_amounts and not 1.0 / OTHER_UNITS < known / own < OTHER_UNITS and not _in_their_units(evidence):
        warn(
            "other_units",
            f"The labels are in other units than the scores of {main.name} (medians {figures(known, 3)} and "
            f"{figures(own, 3)}), and no line surely brings these into theirs; give both in the same units.",
        )


def _warn_of_label_range(labels: SquaredError, result: Refinement) -> None:
    """Warn of refined scores of a regression that are outside of a range in which all labels are."""
    main, truth = result.fitted_model.main, labels.truth
    least = 0.0 if truth.min() >= 0 else -np.inf
    are_percentages = all(PERCENTAGES < each.max() <= 100 for each in (truth, main.came))
    most = 1.0 if truth.max() <= 1 else 100.0 if are_percentages else np.inf
    is_in = _in_their_units(result.evidence) or (main.came.min() >= least and main.came.max() <= most)
    outside = int(np.count_nonzero((result.refined.scores < least) | (result.refined.scores > most)))
    if is_in and least == 0 and outside > MOST_OUTSIDE * len(result.main):
        where = "negative" if np.isinf(most) else f"outside of [0, {most:.0f}]"
        remedy = "they are amounts, give the logarithms of scores and labels"
        if np.isfinite(most):
            remedy = "no value can be, cut them off there"
        warn(
            "left_label_range",
            f"{outside:,} of the {len(result.main):,} refined scores of {main.name} are {where}, and no label is; if "
            f"{remedy}.",
        )


def _in_their_units(evidence: Evidence) -> bool:
    """Whether scores of a regression were brought into the units of its labels."""
    return evidence.measured is not None and evidence.measured.in_other_units


def fitted_part(
    problem: Problem, score: Score | None, method: JointDiffusion, seed: int
) -> tuple[Problem, Score | None]:
    """Return the part of a large problem that is fitted, and the score of its labels; a small one as it is."""
    tables, most = problem.tables_with_graphs(), method.fitted_rows
    if most is None or all(len(table) <= most for table in tables):
        return problem, score
    labelled = None if score is None else score.rows
    part = problem.sample(generator(seed, Stream.FITTED), most, labelled)
    if is_constant(part.main.scores).all():
        raise InputError(
            f"{all_alike(problem.main, f' in the {len(part.main):,} rows that are fitted')}; give the method more "
            "`fitted_rows`."
        )
    if score is None:
        return part, None
    return part, score.at(locate(problem.main.keys[score.rows], part.main.keys)[0])


def blocks_of_labels(main: Observations, labels: Labels, score: Score, method: JointDiffusion, seed: int) -> Folds:
    """Return labels in one fold, in the blocks that `refine` would hold out: groups, runs or regions."""
    problem, measure = fitted_part(Problem.of(main, (), needed=False), score, method, seed)
    assert measure is not None, "there are labels"
    given = prepare(problem, method, measure, seed, Host(), groups_of(labels, problem.main, measure))
    blocks, held = blocks_of(given, measure, start(given)[1].fitted)
    return Folds(blocks, held, blocks).together()


def seed_of(rng: np.random.Generator | int | None) -> int:
    """Return the seed itself, or draw one from the generator or from the system."""
    if isinstance(rng, Integral) and not isinstance(rng, bool):
        if rng < 0:
            raise InputError(f"The seed {rng} came, but a whole number of at least 0 was expected; correct it.")
        return int(rng)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(f"rng={rng!r} came, but a whole number or a numpy.random.Generator was expected.")
    return int(np.random.default_rng(rng).integers(2**63))
