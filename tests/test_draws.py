"""Draws depend on what rows hold: not on how their ids are spelled, nor on where rows stand."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.kernels.arrays import drawn_by_place, order_of_rows
from manifuse.tables.drawing_order import places_of
from tests.problems import draw, remade

#: A sample is fitted, and scores of few values have ties, which features tell apart.
METHODS = {
    "whole": mf.JointDiffusion(same_target=True),
    "sample": mf.JointDiffusion(same_target=True, fitted_rows=100),
}


CLASSES = ["a", "b", "c"]


def respelled(ids):
    """Other names of the same things, in another alphabetical order and of another length."""
    return [f"{(int(key[1:]) * 7919 + 11) % 10007:05d}-{key[0]}" for key in ids]


def renamed(table):
    return remade(table, ids=respelled(table.keys.tolist()))


@pytest.mark.parametrize("labelled", [False, True], ids=["no labels", "labels"])
@pytest.mark.parametrize(("method", "values"), [("whole", None), ("whole", 12), ("sample", None)])
def test_other_names_of_the_same_ids_change_no_bit(method, values, labelled):
    case = draw(3, rows=300, pairs=60)
    main = case.main
    if values is not None:
        main = remade(main, predictions=np.round(values * main.scores) / values)
    labels = case.labels() if labelled else None
    before = mf.refine(main, case.references, labels, METHODS[method], rng=0)
    other = mf.RankLabels(respelled(case.labels().keys.tolist()), case.labels().grades) if labelled else None
    after = mf.refine(renamed(main), [renamed(each) for each in case.references], other, METHODS[method], rng=0)
    np.testing.assert_array_equal(after.scores, before.scores)
    np.testing.assert_array_equal(after.support, before.support)
    assert (after.reason, after.gain) == (before.reason, before.gain)
    later = remade(main, ids=[f"later {row}" for row in range(len(main))])
    np.testing.assert_array_equal(after.apply(later), before.apply(later))


def test_other_names_of_the_same_ids_change_no_bit_of_classes():
    case = draw(4, rows=200, pairs=60)
    chances = [np.exp(np.column_stack([each.scores, 0 * each.scores, -(each.scores**2)])) for each in case.references]
    tables = [
        mf.Observations(
            each / each.sum(axis=1, keepdims=True), table.table, ids=table.keys, classes=CLASSES, name=name
        )
        for name, table, each in zip("rs", case.references, chances, strict=True)
    ]
    main, reference = tables
    keys, names = main.keys[:80], np.array(CLASSES)[np.argmax(main.came[:80], axis=1)]
    found = []
    for spell in (list, respelled):
        given = [
            mf.Observations(each.came, each.table, ids=spell(each.keys.tolist()), classes=CLASSES, name=each.name)
            for each in (main, reference)
        ]
        found.append(mf.refine(given[0], given[1:], mf.ClassLabels(spell(keys.tolist()), names), rng=0))
    np.testing.assert_array_equal(*(each.scores for each in found))


def test_other_names_of_the_same_ids_change_no_bit_of_ordered_pairs(rng):
    case = draw(3, rows=200, pairs=60)
    ends = case.main.keys[rng.choice(200, (60, 2), replace=False)]
    found = []
    for spell in (list, respelled):
        tables = [remade(each, ids=spell(each.keys.tolist())) for each in (case.main, *case.references)]
        labels = mf.RankLabels.from_pairs(*(spell(side.tolist()) for side in ends.T))
        found.append(mf.refine(tables[0], tables[1:], labels, rng=0))
    np.testing.assert_array_equal(*(each.scores for each in found))
    assert found[0].gain == found[1].gain


def test_classes_in_another_order_change_nothing_but_rounding(rng):
    """Also where many rows have equal probabilities, whose coordinates differ by rounding."""
    case, orders = draw(3, rows=90, pairs=40), [[0, 1, 2, 3], [2, 0, 3, 1]]
    chances = [np.round(rng.dirichlet(np.ones(4), len(each)), 1) + 0.1 for each in (case.main, *case.references)]
    chances[1] = np.eye(4)[chances[1].argmax(axis=1)]
    found = []
    for order in orders:
        tables = [
            mf.Observations(
                (raw / raw.sum(axis=1, keepdims=True))[:, order],
                table.table,
                ids=table.keys,
                name=table.name,
                classes=np.array(["a", "b", "c", "d"])[order],
            )
            for table, raw in zip((case.main, *case.references), chances, strict=True)
        ]
        found.append(mf.refine(tables[0], tables[1:], rng=0))
    np.testing.assert_allclose(found[1].weights, found[0].weights, rtol=1e-9)
    np.testing.assert_allclose(found[1].predictions, found[0].predictions[:, orders[1]], atol=1e-4)


def test_other_names_of_groups_change_no_bit():
    case = draw(3, rows=200, pairs=60)
    labels, groups = case.labels(), [f"g{row % 13}" for row in range(60)]
    found = [
        mf.refine(case.main, case.references, mf.RankLabels(labels.keys, labels.grades, groups=each), rng=0)
        for each in (groups, respelled(groups))
    ]
    np.testing.assert_array_equal(*(each.scores for each in found))
    assert found[0].gain == found[1].gain


def test_rows_have_an_order_that_they_themselves_give(rng):
    """By scores, then by features, then by ids; a sort of tuples says the same."""
    scores, features = rng.integers(0, 4, 60) / 4.0, rng.integers(0, 3, (60, 2)).astype(float)
    keys = np.array([f"r{number}" for number in rng.permutation(60)])
    tuples = [(score, *row, key) for score, row, key in zip(scores, features.tolist(), keys, strict=True)]
    order = order_of_rows(np.arange(60), scores, keys, features)
    assert order.tolist() == sorted(range(60), key=tuples.__getitem__)
    some = rng.permutation(60)[:25]
    assert some[order_of_rows(some, scores, keys, features)].tolist() == sorted(some.tolist(), key=tuples.__getitem__)
    backwards = [(score, *row[::-1], key) for score, row, key in zip(scores, features.tolist(), keys, strict=True)]
    order = order_of_rows(np.arange(60), scores, keys, features, np.array([1, 0]))
    assert order.tolist() == sorted(range(60), key=backwards.__getitem__)
    assert order_of_rows(np.arange(0), scores, keys).tolist() == []


def test_rows_are_drawn_by_their_places(rng):
    places = rng.permutation(50)
    rows = rng.permutation(50)[:30]
    drawn = drawn_by_place(places, rows, 10, np.random.default_rng(3))
    assert (np.diff(drawn) > 0).all()
    assert set(drawn) <= set(rows)
    order = rng.permutation(50)
    moved = drawn_by_place(places[order], np.argsort(order)[rows], 10, np.random.default_rng(3))
    assert set(order[moved]) == set(drawn)


def test_columns_with_names_in_another_order_draw_the_same_rows():
    table = draw(0, rows=200).main
    names = [f"x{column}" for column in range(table.table.shape[1])]
    scores, mixed = np.round(3 * table.scores), np.array([3, 0, 5, 1, 4, 2])

    def named(columns):
        chosen = [names[column] for column in columns]
        return remade(table, predictions=scores, features=table.table[:, columns], feature_names=chosen)

    np.testing.assert_array_equal(places_of(named(range(6))), places_of(named(mixed)))
    assert (
        places_of(named(mixed)) != places_of(remade(table, predictions=scores, features=table.table[:, mixed]))
    ).any()


@pytest.mark.parametrize("seed", [0, 1, 9])
def test_rows_that_occur_twice_are_equal_but_for_rounding_in_every_order(seed):
    """Scores of yes and no, and two ids of each thing: what is smoothed, and where labels lie, hang on no bit."""
    noise = np.random.default_rng(seed)
    half, ids = 40, np.array([f"m{row}" for row in range(80)])
    truth = noise.standard_normal(half)
    features = 0.5 * np.outer(truth, noise.standard_normal(4)) + noise.standard_normal((half, 4))
    decided = 2.0 * (truth + noise.standard_normal(half) > 0)
    truth, features, decided = np.tile(truth, 2), np.tile(features, (2, 1)), np.tile(decided, 2)
    labelled = noise.choice(80, 40, replace=False)
    labels = mf.RankLabels(ids[labelled], truth[labelled] + 0.5 * noise.standard_normal(40))

    def refined(order):
        main = mf.Observations(decided[order], features[order], ids=ids[order], feature_names=list("abcd"))
        result = mf.refine(main, [], labels, rng=0)
        return result, result.predictions[np.argsort(order)]

    expected, scores = refined(np.arange(80))
    for _ in range(4):
        found, again = refined(noise.permutation(80))
        np.testing.assert_allclose(again, scores, atol=1e-6)
        assert found.evidence.measured.held == expected.evidence.measured.held
        assert found.gain.value == pytest.approx(expected.gain.value, abs=1e-9)
