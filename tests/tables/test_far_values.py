"""Values far from the rest are warned of; rare events and heavy tails are not."""

import warnings

import numpy as np
import pytest

import manifuse as mf
from manifuse.tables.far_values import (
    _are_thousands,
    _far_from_rest,
    _with_a_far_value,
    warn_of_far,
    warn_of_features,
)


def said_of(values):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_far("scores of ours", np.asarray(values, dtype=float), np.arange(len(values)).astype(str))
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e150])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_one_number_for_a_missing_value_is_named_in_any_unit(rng, unit, offset):
    values = unit * (rng.standard_normal(300) + offset)
    assert said_of(values) == []
    values[200] = -9999.0 * unit
    (said,) = said_of(values)
    assert f"the farthest of them {values[200]:.6g} of '200'" in said


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("planted", [[5000.0], [1000.0] * 3, [2060.0, 1910.0, 1500.0], [7777.0] * 6])
def test_a_few_beyond_a_gap_are_named_in_any_number(rng, planted, sign):
    """Other rows may come back with such values, because refined scores are brought into the order of all."""
    values = np.clip(150.0 + 46.0 * rng.standard_normal(252), 60.0, 330.0)
    assert said_of(sign * values) == []
    values[rng.choice(252, len(planted), replace=False)] = planted
    (said,) = said_of(sign * values)
    assert f"the farthest of them {sign * max(planted):.6g} of" in said


def test_counts_amounts_and_halves_are_no_few_beyond_a_gap(rng):
    assert said_of(np.append(1.0 + rng.poisson(3.0, 300), 60.0)) == []
    amounts = np.exp(2.0 * rng.standard_normal(300))
    assert said_of(np.append(amounts, 3.5 * amounts.max())) == []
    assert said_of(np.append(np.exp(2.0 * rng.standard_normal(300)) - 7.0, 500.0)) == []
    assert said_of(100.0 + np.append(rng.standard_normal(200), 1000.0 + rng.standard_normal(20))) == []


def test_the_largest_floats_are_compared_without_leaving_their_range(rng):
    values = rng.standard_normal(50)
    values[3], values[4] = 1.7e308, -1.7e308
    # Two of fifty, one at each end, are not a few.
    assert said_of(values) == []
    assert len(said_of(np.append(values[5:], 1.7e308))) == 1


def test_rare_events_grades_and_heavy_tails_are_left_alone(rng):
    assert said_of(np.arange(1000) == 5) == []
    assert said_of(np.repeat([0.0, 1.0, 5.0], [900, 95, 5])) == []
    assert said_of(rng.standard_t(2.0, 2000)) == []
    assert said_of(np.exp(1.5 * rng.standard_normal(2000))) == []


@pytest.mark.parametrize(
    "low, high, beside, share, is_named",
    [
        (1, 10, -1, 0.05, True),
        (0, 4, -9, 0.05, True),
        (1, 5, 9, 0.05, True),
        (1, 5, 0, 0.2, False),  # A scale from 0 on.
        (0, 4, -1, 0.2, False),  # Perhaps a scale from -1 on.
        (1, 7, 9, 0.05, False),  # Perhaps 8 is rare.
        (0, 5, 9, 0.01, False),  # Counts have a few large ones.
        (-3, 3, -4, 0.05, False),
        (0, 1, -1, 0.2, False),
    ],
)
def test_a_number_beside_grades_is_named(rng, low, high, beside, share, is_named):
    grades = rng.integers(low, high + 1, 400).astype(float)
    grades[: int(share * 400)] = beside
    said = said_of(grades)
    assert len(said) == is_named
    assert all(f"Several scores of ours are {beside}, apart from all others" in each for each in said)


@pytest.mark.parametrize("names", [None, ("a", "b", "c")])
def test_features_with_a_number_for_missing_values_are_named(rng, names):
    features = rng.standard_normal((12_000, 3)) * [1.0, 1e-6, 1e6]
    features[:, 2] = np.where(np.arange(12_000) % 300, features[:, 0] > 2.0, 8000.0)  # counts, most of them 0
    scores, ids = rng.standard_normal(12_000), range(12_000)
    table = mf.Observations(scores, features, ids=ids, feature_names=names, name="ours")
    warn_of_features(table)
    features[::600, 1] = -8000.0
    table = mf.Observations(scores, features, ids=ids, feature_names=names, name="ours")
    column = "'b'" if names else "1"
    with pytest.warns(mf.ManifuseWarning, match=f"A few values in column {column} of the features of ours are far"):
        warn_of_features(table)


@pytest.mark.parametrize("rows", [3, 7, 100, 399])
def test_no_feature_with_far_values_is_overlooked(rng, rows):
    found = 0
    for size in np.linspace(0.0, 4.0, 200):
        values = rng.standard_normal((rows, 4)) * [1.0, 1e-200, 1e150, 1e-6] + [0.0, 1e-200, -1e150, 0.0]
        values[: max(1, rows // 100)] *= 10.0**size
        far = np.flatnonzero(_far_from_rest(values)[1])
        assert {*far} <= {*_with_a_far_value(values)}
        found += len(far)
    assert 0 < found < 800
    assert len(_with_a_far_value(rng.standard_normal((400, 50)))) == 0


@pytest.mark.parametrize(("number", "share"), [(-999.0, 0.02), (9999.0, 0.3), (-99.0, 0.9)])
def test_a_number_for_missing_values_is_named_however_many_there_are(rng, number, share):
    values = rng.uniform(0.0, 50.0, 200)
    values[rng.permutation(200)[: int(200 * share)]] = number
    (said,) = said_of(values)
    assert f"Several scores of ours are {number:.0f}, far from all others" in said
    features = np.column_stack([rng.standard_normal(200), values])
    table = mf.Observations(rng.standard_normal(200), features, ids=range(200), name="ours")
    said = f"column 1 of the features of ours are {number:.0f}, far from"
    with pytest.warns(mf.ManifuseWarning, match=said) as all_said:
        warn_of_features(table)
    assert len(all_said) == 1


def test_numbers_within_the_range_of_others_stand_for_themselves(rng):
    ages = np.append(rng.integers(0, 99, 200), [99, 99, 99])
    assert said_of(ages) == []
    assert said_of(np.where(np.arange(200) % 7, 0.0, 99.0)) == []  # two grades
    assert said_of(np.append(rng.uniform(900.0, 950.0, 99), 999.0)) == []  # one row
    assert said_of(np.repeat([1.0, 60.0, 99.0], 20)) == []


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_dots_between_thousands_are_named_in_scores_labels_and_features(rng, dtype):
    amounts = np.exp(rng.normal(7.0, 0.8, 80)).round()
    amounts[:3] = 120, 340, 999
    read = np.where(amounts < 1000, amounts, amounts / 1000)
    features = np.column_stack([rng.standard_normal(80), read]).astype(dtype)
    main = mf.Observations(read, features, ids=range(80), name="ours", feature_names=["age", "cost"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(main, [], mf.RankLabels(range(60), read[:60] + 0.0), rng=0)
    said = sorted(str(each.message) for each in caught if each.message.code == "thousands")
    assert [each.split(",")[0] for each in said] == [
        "In column 'cost' of the features of ours",
        "Of the labels",
        "Of the scores of ours",
    ]


@pytest.mark.parametrize(
    "values",
    [
        lambda rng: rng.normal(37.0, 1.0, 80).round(1),
        lambda rng: rng.uniform(0.5, 3.0, 80).round(3),
        lambda rng: np.r_[np.zeros(40), rng.uniform(1.0, 3.0, 40).round(3)],
        lambda rng: rng.uniform(1.0, 900.0, 80).round(2),
        lambda rng: rng.poisson(200, 80),
        lambda rng: np.r_[rng.poisson(200, 20), rng.uniform(1.0, 900.0, 60)],
        lambda rng: rng.uniform(1.0, 60.0, 8000).round(3),
    ],
    ids=["temperatures", "three digits", "mostly zero", "prices", "counts", "some counts", "many rows"],
)
def test_other_numbers_have_no_dots_between_thousands(rng, values):
    assert not _are_thousands(values(rng).astype(float)[:, np.newaxis])[0]


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_dots_between_thousands_in_later_rows_are_named(rng):
    cost = np.exp(rng.normal(7.0, 0.8, 80)).round()
    main = mf.Observations(
        np.log(cost) + rng.standard_normal(80), cost[:, None], ids=range(80), feature_names=["cost"]
    )
    theirs = mf.Observations(np.log(cost), ids=range(80), name="theirs")
    result = mf.refine(main, [theirs], rng=0)
    for read in (cost, np.where(cost < 1000, cost, cost / 1000)):
        later = mf.Observations(main.scores, read[:, None], ids=range(100, 180), name="later", feature_names=["cost"])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result.apply(later)
        said = [str(each.message) for each in caught if each.message.code == "thousands"]
        assert bool(said) is (read is not cost)
        assert all("In column 'cost' of the features of later, some values are whole" in each for each in said)
