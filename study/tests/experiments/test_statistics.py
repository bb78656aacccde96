"""Statistics: closed forms, SciPy and exhaustive search as second opinions."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from study.tests.result_rows import EXPERIMENTS, NEEDS_COUPLED, draw_rows

from manifuse_study.experiments.comparison import MEAN, Difference, count, holm, interval, signed_rank
from manifuse_study.experiments.statistics import roughness, summarise, values_of, with_surface


@pytest.fixture(scope="module")
def rows():
    return draw_rows()


@pytest.fixture(scope="module")
def summaries(rows):
    return summarise(rows)


def test_holm_by_hand():
    # Smallest first: 4 times 0.005, then 3 times 0.01, then 2 times 0.03 and 1 time 0.04, which must not fall.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_holm_leaves_out_what_was_not_tested():
    corrected = holm([0.02, np.nan, 0.01])
    assert corrected[::2] == pytest.approx([0.02, 0.02])
    assert np.isnan(corrected[1])


def test_holm_rejects_as_the_step_down_rule_does(rng):
    for _ in range(200):
        p = rng.uniform(0, 0.1, 7)
        stays = [np.sort(p)[rank] > 0.05 / (7 - rank) for rank in range(7)]
        rejected = stays.index(True) if True in stays else 7
        assert np.sum(np.array(holm(p)) <= 0.05) == rejected


def test_intervals_are_those_of_scipy(rng):
    differences = rng.normal(0.01, 0.02, 10)
    expected = stats.ttest_1samp(differences, 0.0).confidence_interval(0.95)
    assert interval(differences) == pytest.approx((expected.low, expected.high))
    assert interval(np.full(5, 0.25)) == (0.25, 0.25)
    assert np.isnan(interval(np.array([0.1]))).all()


def test_signed_rank_counts_the_signs_that_are_as_extreme(rng):
    differences = np.round(rng.normal(0.5, 1.0, 9), 1)
    differences[3] = 0.0
    moved = differences[differences != 0]
    ranks = stats.rankdata(np.abs(moved))
    middle = ranks.sum() / 2
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=len(moved))])
    observed = ranks[moved > 0].sum()
    expected = np.mean(np.abs(sums - middle) >= abs(observed - middle) - 1e-9)
    assert signed_rank(differences) == pytest.approx(expected)


def test_signed_rank_at_the_ends():
    assert signed_rank(np.zeros(10)) == 1.0
    assert signed_rank(np.full(10, 0.1) * (1 + 1e-14 * np.arange(10))) == pytest.approx(2 / 2**10)
    assert np.isnan(signed_rank(np.full(3, np.nan)))


def test_signed_rank_does_not_take_the_last_place_for_a_difference():
    assert signed_rank(np.array([0.1 + 0.2 - 0.3] * 10)) == 1.0
    assert count(np.array([0.1 + 0.2 - 0.3, 0.1, -0.1, np.nan])) == (1, 1, 1)


def test_a_method_against_itself_is_no_different(summaries):
    found = summaries["osr"].compare("JMD", "JMD")
    for task in (*found.tasks, found.mean):
        assert (task.mean, task.low, task.high, task.p, task.adjusted) == (0, 0, 0, 1, 1)
        assert (task.wins, task.ties, task.losses) == (0, 10, 0)
        assert task.verdict == 0
    assert found.cells == (0, 60, 0)


def test_the_verdict_is_of_the_corrected_test():
    assert Difference("", 10, 0.01, 0.001, 0.02, p=0.01, adjusted=0.06, wins=9, ties=0, losses=1).verdict == 0
    assert Difference("", 10, 0.01, 0.001, 0.02, p=0.01, adjusted=0.04, wins=9, ties=0, losses=1).verdict == 1
    assert Difference("", 10, -0.01, -0.02, -0.001, p=0.01, adjusted=0.04, wins=1, ties=0, losses=9).verdict == -1


def test_wins_ties_and_losses_are_all_tasks_and_trials(summaries):
    for summary in summaries.values():
        for found in summary.comparisons:
            done = np.isfinite(summary.table(found.method)).sum()
            assert sum(found.cells) == done
            assert sum(found.in_the_mean) == len(summary.tasks)
            assert sum(found.significant) <= len(summary.tasks)


def test_turning_the_comparison_turns_its_signs(summaries):
    there, back = (
        summaries["pubfig"].compare(*pair) for pair in (("JMD", "TPC, iterative"), ("TPC, iterative", "JMD"))
    )
    assert there.mean.mean == pytest.approx(-back.mean.mean)
    assert (there.mean.low, there.mean.high) == pytest.approx((-back.mean.high, -back.mean.low))
    assert there.cells == back.cells[::-1]
    assert [task.adjusted for task in there.tasks] == pytest.approx([task.adjusted for task in back.tasks])


def test_numbers_are_those_of_the_rows(rows, summaries):
    values = [row.accuracy for row in rows if (row.dataset, row.task, row.method) == ("hw", "pix", "JMD")]
    spread = summaries["hw"].spread("JMD", "pix")
    assert (spread.mean, spread.deviation, spread.trials) == (
        pytest.approx(np.mean(values)),
        pytest.approx(np.std(values, ddof=1)),
        10,
    )
    seconds = [row.seconds for row in rows if (row.dataset, row.method) == ("hw", "JMD")]
    assert summaries["hw"].median_seconds("JMD") == pytest.approx(np.median(seconds))
    only = [row.seconds for row in rows if (row.dataset, row.task, row.method) == ("hw", "pix", "JMD")]
    assert summaries["hw"].median_seconds("JMD", "pix") == pytest.approx(np.median(only))
    assert np.isnan(summaries["hw"].median_seconds("TPC, iterative"))


def test_the_order_of_rows_in_a_file_changes_no_number(rows, summaries):
    names = "hw", "pubfig"
    backwards = summarise([row for row in rows[::-1] if row.dataset in names])
    for name in names:
        summary, turned = summaries[name], backwards[name]
        assert set(turned.methods) == set(summary.methods)
        for method in summary.methods:
            assert turned.compare(method).mean.mean == pytest.approx(summary.compare(method).mean.mean)
            assert turned.spread(method, MEAN).deviation == pytest.approx(summary.spread(method, MEAN).deviation)


def test_a_mean_over_tasks_leaves_out_trials_with_a_gap(rows, summaries):
    gaps = {row.trial for row in rows if (row.dataset, row.status) == ("pubfig", "failed")}
    assert len(gaps) == 3
    assert summaries["pubfig"].spread("MTL2", MEAN).trials == 10 - len(gaps)
    assert summaries["pubfig"].compare("MTL2").mean.trials == 10 - len(gaps)
    assert sum(task.trials for task in summaries["pubfig"].compare("MTL2").tasks) == 110 - len(gaps)


def test_what_is_missing_is_grouped_by_reason(summaries):
    assert set(summaries) == set(EXPERIMENTS)
    found = summaries["hw"].missing
    assert [(method, status, len(tasks)) for (method, status, _), tasks in found.items()] == [
        ("TPC, iterative", "skipped", 60),
        ("MTL1", "skipped", 60),
    ]
    assert next(iter(found))[2] == NEEDS_COUPLED
    (((method, status, _), tasks),) = summaries["pubfig"].missing.items()
    assert (method, status, len(tasks)) == ("MTL2", "failed", 3)
    assert "TPC, iterative" not in summaries["hw"].methods


def test_a_trial_that_only_one_method_has_is_compared_with_none(rows):
    alone = [row for row in rows if row.dataset == "osr" and (row.trial < 2 or row.method == "JMD")]
    found = summarise(alone)["osr"].compare("JMD").mean
    assert found.trials == 2
    single = summarise([row for row in alone if row.trial == 0])["osr"].compare("JMD").mean
    assert single.trials == 1
    assert np.isfinite(single.mean)
    assert np.isnan([single.low, single.high]).all()


def test_roughness_of_cells_in_any_order_is_one_in_the_mean(rng):
    values = rng.uniform(size=(8, 7))
    shuffled = [roughness(rng.permutation(values.ravel()).reshape(8, 7)) for _ in range(2000)]
    assert np.mean(shuffled) == pytest.approx(1.0, abs=0.02)


def test_roughness_of_a_ramp_a_plane_and_a_chessboard():
    # n steps of 1 against twice the variance n (n + 1) / 12.
    assert roughness(np.arange(10.0)[None]) == pytest.approx(6 / 110)
    steps, scales = np.indices((8, 7))
    assert roughness(3 * steps - scales + 5.0) < 0.1
    assert roughness((steps + scales) % 2.0) == pytest.approx(2.0, abs=0.1)
    assert roughness(np.full((8, 7), 0.7)) == 0.0


def test_roughness_ignores_shift_scale_and_gaps(rng):
    values = rng.uniform(size=(8, 7))
    assert roughness(values) == pytest.approx(roughness(1 - 3 * values))
    assert roughness(np.hstack([values, np.full((8, 1), np.nan)])) == pytest.approx(roughness(values))


def test_surfaces_are_of_rows_that_hold_one(rows):
    found = with_surface(rows)
    assert len(found) == sum(row.method in ("JMD", "JMD, as published") for row in rows)
    holed = replace(rows[1], hyperparameters={**rows[1].hyperparameters, "surface": [[0.5, None]]})
    assert with_surface([holed]) == [holed]
    np.testing.assert_array_equal(values_of(holed), [[0.5, np.nan]])
