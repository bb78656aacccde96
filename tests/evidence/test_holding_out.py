"""Which labels are held out together."""

import numpy as np
import pytest
from scipy.stats import norm, t
from tests.problems import draw

import manifuse as mf
from manifuse.evidence.holding_out import Folds, Held, are_crowded, error_of_sum, follow_in_time, held_together
from manifuse.evidence.rankings import GradedRanking


def nearest(features):
    squares = np.sum((features[:, None] - features) ** 2, axis=2)
    np.fill_diagonal(squares, np.inf)
    return squares.argmin(axis=1)


@pytest.mark.parametrize(
    "held, count, expected",
    [
        (Held.AT_RANDOM, 12, 5),
        (Held.BY_GROUP, 15, 5),
        (Held.BY_GROUP, 12, 4),
        (Held.BY_GROUP, 4, 2),
        (Held.BY_GROUP, 2, 2),
    ],
)
def test_rows_of_one_block_are_in_one_fold_of_every_trial(rng, held, count, expected):
    blocks = rng.permutation(np.arange(60) % count)
    folds = Folds.of(blocks, held, rng)
    assert folds.numbers.shape == (5, 60)
    for numbers in folds.numbers:
        assert len(np.unique(numbers)) == expected
        assert all(len(set(numbers[blocks == block])) == 1 for block in np.unique(blocks))
    assert sorted(np.concatenate(folds.rows(0))) == list(range(60))
    values = rng.standard_normal((5, 60))
    centred = folds.within(values)
    for trial in range(5):
        np.testing.assert_allclose([centred[trial, fold].sum() for fold in folds.rows(trial)], 0.0, atol=1e-12)


def test_a_table_in_time_is_seen_and_a_sorted_or_shuffled_one_is_not(rng):
    walk = np.cumsum(rng.standard_normal((600, 3)), axis=0)
    assert follow_in_time(nearest(walk))
    assert not follow_in_time(nearest(rng.permutation(walk)))
    classes = np.repeat(rng.standard_normal((6, 3)) * 5.0, 100, axis=0) + rng.standard_normal((600, 3))
    assert not follow_in_time(nearest(classes))


@pytest.mark.parametrize("rows", [3, 12, 20, 35, 60])
def test_rows_of_a_small_table_are_near_each_other_by_chance(rows, rng):
    drawn = [follow_in_time(nearest(rng.standard_normal((rows, 3)))) for _ in range(100)]
    assert sum(drawn) <= 1
    assert rows < 60 or follow_in_time(nearest(np.cumsum(rng.standard_normal((rows, 3)), axis=0)))


def test_labels_of_a_corner_are_crowded_and_labels_anywhere_are_not(rng):
    def distances(labelled, others):
        between = np.sum((labelled[:, None] - labelled) ** 2, axis=2)
        return between, np.sum((others[:, None] - labelled) ** 2, axis=2).min(axis=1)

    points = rng.uniform(-1, 1, (500, 2))
    corner = points[(points > 0.5).all(axis=1)]
    places = np.arange(len(points))
    assert are_crowded(places[: len(corner)], *distances(corner, points))
    assert not are_crowded(places[:40], *distances(points[:40], points[40:]))
    # As rows of ordered pairs, each is there three times.
    rows = np.tile(places[:40], 3)
    assert not are_crowded(rows, *distances(points[rows], points[40:]))
    # All rows but a few have labels.
    assert not are_crowded(places[: len(corner)], *distances(corner, points[:5] - 9.0))
    blocks, held = held_together(
        np.arange(len(corner)), np.arange(len(corner)).astype(str), None, None, distances(corner, points)
    )
    assert held is Held.BY_REGION
    assert len(np.unique(blocks)) == 10


def test_labels_anywhere_among_amounts_and_counts_that_are_mostly_zero_are_not_crowded(rng):
    def found(labelled, rows=300):
        points = np.where(rng.random((rows, 8)) < 0.9, 0.0, np.exp(rng.standard_normal((rows, 8))))
        squares = np.sum((points[:, None] - points) ** 2, axis=2)
        order = np.argsort(squares[0]) if labelled == "near" else rng.permutation(rows)
        chosen, others = order[:60], order[60:]
        return are_crowded(chosen, squares[np.ix_(chosen, chosen)], squares[np.ix_(others, chosen)].min(axis=1))

    assert sum(found("anywhere") for _ in range(100)) <= 2
    assert sum(found("near") for _ in range(20)) >= 15


def test_labels_whose_neighbours_are_twins_are_not_crowded_by_rounding():
    between = np.where(np.eye(12, dtype=bool) | (np.arange(12) // 2 == np.arange(12)[:, None] // 2), 0.0, 4.0)
    assert not are_crowded(np.arange(12), between, np.full(30, 4e-15))
    assert are_crowded(np.arange(12), between, np.full(30, 0.5))


def test_groups_come_first_and_runs_next():
    rows, keys = np.array([5, 1, 9, 3]), np.array(["e", "a", "i", "c"])
    blocks, held = held_together(rows, keys, ["x", "y", "x", "y"], None, None)
    assert (blocks.tolist(), held) == ([0, 1, 0, 1], Held.BY_GROUP)
    follow = np.r_[1, np.arange(199)]
    blocks, held = held_together(rows, keys, None, follow, None)
    assert held is Held.BY_RUN
    assert np.argsort(blocks, kind="stable").tolist() == [1, 3, 0, 2]
    blocks, held = held_together(rows, keys, None, None, None)
    assert (blocks.tolist(), held) == ([2, 0, 3, 1], Held.AT_RANDOM)


def test_a_gain_that_exists_only_within_groups_is_not_taken(rng):
    """Every group has its own level, which features tell; own scores know the order within groups alone."""
    groups = rng.permutation(np.repeat(np.arange(12), 40))
    level, within = rng.standard_normal(12)[groups], rng.standard_normal(480)
    features = np.eye(12)[groups] + 0.05 * rng.standard_normal((480, 12))
    truth = 3.0 * level + within
    main = mf.Observations(within + 0.3 * rng.standard_normal(480), features, ids=range(480), name="ours")
    known = np.arange(120)
    plain = mf.refine(main, [], mf.RankLabels(known, truth[known]), rng=0)
    grouped = mf.refine(main, [], mf.RankLabels(known, truth[known], groups[known]), rng=0)
    assert (plain.evidence.measured.held, grouped.evidence.measured.held) == (Held.AT_RANDOM, Held.BY_GROUP)
    assert grouped.gain.value < plain.gain.value - 0.1
    assert not grouped.gain.is_certain
    assert "Labels were held out by group." in grouped.summary()


@pytest.mark.parametrize("groups", [2, 5])
def test_labels_that_are_equal_within_each_group_are_compared_between_groups_or_are_too_few(groups, rng):
    case = draw(3)
    rows, group = case.labelled, np.arange(60) % groups
    labels = mf.RankLabels(case.main.keys[rows], (group % 2).astype(float), groups=group)
    result = mf.refine(case.main, [], labels, rng=0)
    assert result.evidence.measured.held is Held.BY_GROUP
    assert 0.2 < result.accuracy.before < 0.8
    assert result.gain.is_of_few is (groups == 2)
    assert not result.gain.is_certain
    assert not result.gain.is_of_few or not result.accepted
    assert result.gain.rows == (0 if groups == 2 else 60)
    said = " ".join(result.summary().split())
    few = "The labels (or the groups in which they differ)"
    nothing = f"stay as they were. {few} are too few to measure a gain."
    assert (nothing in said) is (groups == 2)
    followed = mf.refine(case.main, case.references, labels, rng=0)
    said = " ".join(followed.summary().split())
    assert "60 labelled rows, of which" not in said
    little = f"{few} taught a little at most, and are too few to measure whether that is better."
    assert (little in said) is (groups == 2)


@pytest.mark.parametrize("sizes, equal", [((59, 1), ()), ((40, 20), (1,)), ((58, 2), ())])
def test_labels_of_one_group_do_not_say_what_is_gained_in_others(sizes, equal):
    """Beside a group of one label, or of equal ones, all comparisons are inside the other group."""
    case, groups = draw(3), np.repeat(np.arange(2), sizes)
    grades = np.where(np.isin(groups, equal), 0.0, case.truth[case.labelled])
    result = mf.refine(case.main, [], mf.RankLabels(case.main.keys[case.labelled], grades, groups), rng=0)
    assert result.gain.is_of_few is (sizes != (58, 2))
    assert not result.gain.is_certain
    # No accuracy is off by more than all of it.
    assert 0 < result.gain.standard_error <= 1.0


def test_groups_must_be_several_and_one_for_each_label():
    case = draw(0)
    ids, grades = case.main.keys[:20], case.truth[:20]
    with pytest.raises(mf.InputError, match="All labels are of one group"):
        mf.RankLabels(ids, grades, ["a"] * 20)
    with pytest.raises(mf.InputError, match="20 ids but 3 groups"):
        mf.RankLabels(ids, grades, ["a", "b", "c"])


@pytest.mark.parametrize("sizes", [[12] * 5, [56, 1, 1, 1, 1], [50, 5, 5], [40, *[2] * 10], [1, 59]])
def test_the_error_of_blocks_is_that_of_leaving_out_one_at_a_time(rng, sizes):
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    values = rng.standard_normal(len(sizes))[blocks] + 0.1 * rng.standard_normal(60)
    folds = Folds(np.zeros((1, 60), dtype=np.intp), Held.BY_GROUP, blocks)
    without = np.array([values[blocks != block].mean() for block in range(len(sizes))])
    spread = (len(sizes) - 1) / len(sizes) * np.sum((without - values.mean()) ** 2)
    student = t.ppf(0.975, len(sizes) - 1) / norm.ppf(0.975)
    error = error_of_sum(values - values.mean(), folds) / 60
    assert error == pytest.approx(max(student * np.sqrt(spread), values.std() / np.sqrt(60)))


@pytest.mark.parametrize("sizes", [[12] * 5, [56, 1, 1, 1, 1], [50, 5, 5], [40, *[2] * 10], [30, 20, 10], [1, 59]])
def test_intervals_hold_whatever_the_sizes_of_groups(rng, sizes):
    """The mean of rows whose groups are off by the same is seldom more than two errors away."""
    blocks = np.repeat(np.arange(len(sizes)), sizes)
    folds = Folds(np.zeros((1, 60), dtype=np.intp), Held.BY_GROUP, blocks)
    away = []
    for _ in range(1000):
        values = rng.standard_normal(len(sizes))[blocks] + 0.3 * rng.standard_normal(60)
        away.append(abs(values.mean()) / (error_of_sum(values - values.mean(), folds) / 60))
    assert np.mean(np.array(away) < 1.645) > 0.82
    assert np.mean(np.array(away) > 2.0) < 0.14


def test_a_block_that_has_all_comparisons_says_no_more_than_its_rows_and_nothing_of_other_blocks():
    blocks = np.array([0, 0, 0, 0, 1, 1])
    folds = Folds(blocks[np.newaxis], Held.BY_GROUP, blocks)
    score = GradedRanking(np.arange(6), np.array([0.0, 1.0, 0.0, 1.0, 1.0, 1.0]))
    before, after = np.array([0.3, 0.2, 0.1, 0.4, 0.0, 0.5]), np.array([0.1, 0.2, 0.0, 0.4, 0.3, 0.5])
    alone = GradedRanking(np.arange(4), score.truth[:4]).gain(before[:4], after[:4])
    gain = score.gain(before, after, folds)
    assert (gain.value, gain.standard_error) == pytest.approx((alone.value, alone.standard_error))
    assert gain.standard_error > 0
    assert (gain.rows, alone.rows) == (0, 4)


def test_an_accuracy_is_off_by_no_more_than_all_of_it(rng):
    """Two labels beside a large group: the jackknife alone would say 6.6."""
    blocks, truth = np.repeat([0, 1], [58, 2]), rng.standard_normal(60)
    before = truth + rng.standard_normal(60)
    before[58:] = truth[[59, 58]]
    folds = Folds(blocks[np.newaxis], Held.BY_GROUP, blocks)
    assert GradedRanking(np.arange(60), truth).gain(before, truth, folds).standard_error == 1.0
