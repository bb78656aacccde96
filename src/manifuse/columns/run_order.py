"""The order: which columns a run computes, one after the other. It is defined here, and nowhere else."""

from dataclasses import replace

import numpy as np

from manifuse.columns.all_columns import Columns, RunInputs, RunOutputs
from manifuse.columns.column import FittedViews
from manifuse.columns.confirmed_shares import factor_by_labels
from manifuse.columns.diffused import Diffused, Diffusion
from manifuse.columns.expected import Expected
from manifuse.columns.held_labels import Labels, distances_of, most_taught
from manifuse.columns.imputed import impute
from manifuse.columns.learned import Taught, teach
from manifuse.columns.like_rest import missed_share, pairs_are_like_rest, representative_of
from manifuse.columns.own import Smoothed, sureness
from manifuse.columns.probable import Calibrated
from manifuse.columns.scored import comparable
from manifuse.columns.spoken import CoveredClasses, SpokenDirections
from manifuse.columns.view import View, features_of
from manifuse.evidence.agreement import Agreement, ask
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.holding_out import TRIALS, Held, held_together
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.randomness import Stream, generator
from manifuse.tables.level import Level

#: The share of the diffused column, where the graph is worth something: of scores, and of three classes or more.
SHARE, SHARE_OF_CLASSES = 0.8, 0.5

#: The graph is worth something on three conditions. Smoothed own scores correlate with the references by this much
#: more than own scores do.
LEAST_SMOOTHED = 0.005

#: At held-out pairs, what bridges predict may correlate with the references by at most this, and half of that gain,
#: less than what lessons predict.
MOST_LOST = 0.04

#: There, what bridges predict of at least one reference correlates with it by more than this.
LEAST_CARRIED = 0.5

#: Fewer pairs than this do not show what the graph is worth elsewhere.
FEWEST_PAIRS = 40


def refine_columns(given: RunInputs) -> RunOutputs:
    """Let every column follow from those before it: this is the method."""
    main, measured = given.problem.main, given.measured
    columns, views = start(given)
    columns, views = smooth_own(given, columns, views)
    references, views = impute(views, given.taking_part, measured, given.places, main.name)
    agreement = ask_references(given, views)
    covered = CoveredClasses.of(given.problem, given.taking_part)
    spoken = SpokenDirections.of(views.fitted["own"], given.taking_part)
    expected = Expected.measured(views.held_out, agreement.pulls, covered, spoken)
    views = views.compute("expected", expected)
    diffuses = is_worth_diffusing(given, views, agreement, expected)
    labels = hold_out(given, views, one_trial=diffuses and not given.labels_are_classes)
    columns = columns.with_columns(references=references, expected=expected)
    found = RunOutputs(columns, views, agreement, labels)
    steps = [learn_from_labels, diffuse] if diffuses else [learn_from_labels]
    # Labels of classes teach what is left to learn after the diffusion, and say whether it did harm.
    for step in reversed(steps) if given.labels_are_classes else steps:
        found = step(given, found)
    return found


def start(given: RunInputs) -> tuple[Columns, FittedViews]:
    """Begin with own scores and features."""
    main = given.problem.main
    scores = main.scores.reshape(len(main), -1)
    own, known = Level.of(scores), np.zeros((len(main), len(given.taking_part)))
    for column, reference in enumerate(given.taking_part.values()):
        known[reference.main_rows, column] = 1.0
    view = View(features_of(main), {"own": own.apply(scores)}, known)
    return Columns(own), FittedViews(view, view)


def smooth_own(given: RunInputs, columns: Columns, views: FittedViews) -> tuple[Columns, FittedViews]:
    """Add the column "smoothed", if there is a graph."""
    if given.bridges.graph.neighbours == 0:
        return columns, views
    smoothed = Smoothed.over(given.bridges.graph, views.fitted["own"])
    return columns.with_columns(smoothed=smoothed), views.add("smoothed", smoothed.fitted)


def ask_references(given: RunInputs, views: FittedViews) -> Agreement:
    """Ask the references that take part; labels of rows that they know may say that they count more, or less."""
    paired = np.where(views.fitted.known[..., None] > 0, views.fitted["references"], np.nan)
    own, imputed = views.held_out["own"], views.held_out["references"]
    # Labels of other rows do not show whether the references do harm.
    harm_shown = 0.0
    if given.score is not None and not given.score.is_of_few:
        harm_shown = 1.0 - missed_share(views.fitted, given.score.rows)
    sure = sureness(own, given.problem.main.classes)
    agreement = ask(own, paired, imputed, same_target=given.same_target, harm_shown=harm_shown, sureness=sure)
    factor = factor_by_labels(views.fitted, agreement.pulls_without_labels, given.score)
    return replace(agreement, factor_by_labels=factor)


def is_worth_diffusing(given: RunInputs, views: FittedViews, agreement: Agreement, expected: Expected) -> bool:
    """Whether the graph is worth something, by what neither smoothing nor bridges have seen.

    If references are followed, the graph must carry them, and the pairs must show the rest, or labels must surely be
    better predicted by smoothed own scores. If none is followed, labels decide.
    """
    if "smoothed" not in views.fitted.columns:
        return False
    if not agreement.is_followed:
        return labels_like_smoothing(given, views.fitted)
    if not graph_carries_references(given, views, agreement):
        return False
    return pairs_show_the_rest(views.fitted, expected) or labels_like_smoothing(given, views.fitted, surely=True)


def graph_carries_references(given: RunInputs, views: FittedViews, agreement: Agreement) -> bool:
    """Whether smoothed own scores predict references better, and bridges carry these as well as lessons do."""
    own, smoothed = views.fitted["own"], views.fitted["smoothed"]
    followed = agreement.pulls > 0
    gained, lost, carried = np.zeros((3, len(followed)))
    for column, (number, reference) in enumerate(given.taking_part.items()):
        rows = reference.main_rows
        truth = views.fitted["references"][rows, column]
        gained[column] = correlation(smoothed[rows], truth) - correlation(own[rows], truth)
        carried[column] = given.tuned.fidelity[number]
        if not reference.is_coupled:
            # Also of a reference that knows most rows: how well it is predicted, not what it says.
            lost[column] = correlation(views.held_out["unseen"][rows, column], truth) - carried[column]
    gain, loss = (float(np.average(each, weights=agreement.pulls)) for each in (gained, lost))
    is_carried = bool(carried[followed].max() > LEAST_CARRIED)
    return is_carried and gain > LEAST_SMOOTHED and loss < MOST_LOST + gain / 2.0


def labels_like_smoothing(given: RunInputs, rows: View, *, surely: bool = False) -> bool:
    """Whether smoothed own scores predict labels better, by more than an error if surely; False without labels."""
    score = given.score
    if score is None:
        return False
    own, smoothed = (comparable(given.problem.units, rows[of][None, score.rows], score) for of in ("own", "smoothed"))
    gain = score.gain(own, smoothed)
    return gain.value > (gain.standard_error if surely else 0.0)


def pairs_show_the_rest(rows: View, expected: Expected) -> bool:
    """Whether the pairs of references that are followed are many, are like all rows, and cover all classes.

    A diffusion carries what is known at pairs to rows far from them. At pairs it seems right even if it is not there.
    """
    pulls, covered = expected.pulls, expected.covered
    if covered is not None and not covered.by(pulls).all():
        return False
    # The weighted mean of their numbers of pairs is large enough. A sum is compared with 0, because a mean of equal
    # numbers may be rounded to less than these.
    many = (rows.known.sum(axis=0) - min(FEWEST_PAIRS, len(rows))) @ pulls >= 0
    return bool(many) and pairs_are_like_rest(rows, pulls)


def hold_out(given: RunInputs, views: FittedViews, *, one_trial: bool) -> Labels | None:
    """Put labels into folds; None without labels."""
    if given.score is None:
        return None
    rng, rows = generator(given.seed, Stream.TEACHING), views.fitted
    score = given.score.few(most_taught(given.score), rng)
    blocks, held = blocks_of(given, score, rows)
    folds, unseen = score.hold_out(blocks, held, rng, 1 if one_trial else TRIALS)
    return Labels(score, folds, unseen, representative_of(rows, score, held))


def blocks_of(given: RunInputs, score: Score, rows: View) -> tuple[IndexArray, Held]:
    """Find which labels are held out together (l,), and why."""
    named, distances, searched = None, None, given.tuned.tables.main
    if given.groups is not None:
        named = [given.groups[row] for row in score.rows.tolist()]
    else:
        distances = distances_of(rows, score.rows, given.places, generator(given.seed, Stream.DISTANCES))
    nearest = None if searched is None else searched.indices[:, 0]
    return held_together(score.rows, given.places[score.rows], named, nearest, distances)


def learn_from_labels(given: RunInputs, found: RunOutputs) -> RunOutputs:
    """Add the columns "learned" and "taught", and of classes "calibrated" before them."""
    labels, views, columns = found.labels, found.views, found.columns
    if labels is None:
        return found
    source = beyond = columns.last
    if isinstance(labels.score, LogLoss):
        calibrated = Calibrated.of(views.held_out, source, labels.score, given.problem.units)
        views = views.compute("calibrated", calibrated)
        columns, beyond = columns.with_columns(calibrated=calibrated), "calibrated"
    taught, views = teach(views, labels, given.measured, given.problem.main.name, source, beyond)
    columns = columns.with_columns(learned=taught.learned, taught=taught.mixture)
    return replace(found, columns=columns, views=views, taught=taught)


def diffuse(given: RunInputs, found: RunOutputs) -> RunOutputs:
    """Add the columns "diffused" and "refined"."""
    columns, views, labels = found.columns, found.views, found.labels
    before, numbers = columns.last, list(given.taking_part)
    followed = tuple(number for number, pull in zip(numbers, found.agreement.pulls, strict=True) if pull != 0)
    diffusion = Diffusion(given.problem, given.bridges, followed)
    begun = views.held_out[before]
    path = diffusion.run(begun)
    values = diffusion.values(path, begun)
    held_out, trials = values, None
    if labels is not None and given.labels_are_classes:
        held_out, rows = values.copy(), labels.score.rows
        # What is learned at a labelled row must not know the references' own scores there.
        trials = diffusion.trials(labels.folds, rows, lambda fold: begun)
        held_out[rows] = trials[0]
        views = replace(views, trials={before: begun[rows][None]})
    elif labels is not None and found.taught is not None:
        trials = diffuse_without_labels(diffusion, views, labels, found.taught)
    views = views.add("diffused", values, held_out, trials)
    share = SHARE if values.shape[1] == 1 else SHARE_OF_CLASSES
    refined, views = views.mix("refined", before, "diffused", share)
    if labels is not None and is_denied(given, views, labels, before):
        return found
    places = {n: numbers.index(n) if n in numbers else -1 for n in given.bridges.known}
    sphere = given.problem.starting_from(begun).start
    diffused = Diffused(before, sphere, given.bridges.on_host(), places, path.coefficients)
    columns = columns.with_columns(diffused=diffused, refined=refined)
    return replace(found, columns=columns, views=views, path=path)


def is_denied(given: RunInputs, views: FittedViews, labels: Labels, before: str) -> bool:
    """Whether held-out labels clearly deny the diffusion: the column that it began with is better."""
    # What would be diffused without the labels of a fold is not computed for ordered pairs.
    if "refined" not in views.trials:
        return False
    begun, refined = (
        comparable(given.problem.units, views.trials[name], labels.score, labels.folds) for name in (before, "refined")
    )
    return labels.score.gain(begun, refined, labels.folds).is_clear_loss


def diffuse_without_labels(
    diffusion: Diffusion, views: FittedViews, labels: Labels, taught: Taught
) -> FloatArray | None:
    """What would be diffused to each labelled row without the labels of its fold; None for ordered pairs."""
    (learned, mixture, lesson), rows = taught, views.held_out
    if lesson.targets.shape[0] != len(labels.score.rows):
        return None

    def begun(fold: IndexArray) -> FloatArray:
        without = lesson.without_fold(fold)
        values, _ = without.predict(rows, rows[learned.source])
        faded = learned.fade(rows, learned.level.apply(values))
        return mixture.at(rows.with_column("learned", faded))

    return diffusion.trials(labels.folds, labels.score.rows, begun)
