"""Later rows that are unlike all fitted ones: nothing that was fitted says anything of them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.alone import alone
from tests.problems import draw, remade, smooth_truth

import manifuse as mf
from manifuse.backends.index import Index
from manifuse.columns.edges import Edges, Joining
from manifuse.diffusion.setup import search_order
from manifuse.run.changed_rows import changed_rows, warn_of_units
from manifuse.run.familiarity import Familiarity
from manifuse.run.later_rows import alone_of
from manifuse.tables.turning import exchanged


def table(features, **others):
    rows = len(features)
    return mf.Observations(np.arange(rows) % 7, features, ids=[f"row {row}" for row in range(rows)], **others)


def familiarity(fitted, new):
    return fitted.at(new.table, Edges.of(new.table, None, None), None)


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module", params=["taught", "alone", "asked"])
def result(case, request):
    if request.param == "alone":
        return alone(case.main, case.references)
    method = mf.JointDiffusion(same_target=True)
    found = mf.refine(case.main, case.references, None if request.param == "asked" else case.labels(), method, rng=0)
    assert found.accepted
    return found


@pytest.mark.parametrize("far", [lambda table: table + 1e3, lambda table: table * 50.0 + 200.0])
@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_rows_far_from_everything_have_the_place_of_their_own_scores(case, result, far):
    keys = [f"later {row}" for row in range(len(case.main))]
    applied = result.apply_in_full(remade(case.main, features=far(case.main.table), ids=keys))
    np.testing.assert_array_equal(applied.support, 0.0)
    np.testing.assert_allclose(np.sort(applied.scores), np.sort(result.scores))
    order = np.argsort(case.main.scores)
    assert (np.diff(applied.scores[order]) >= 0).all()


def test_rows_like_the_fitted_ones_are_familiar(rng):
    features = rng.standard_normal((900, 12))
    familiar = familiarity(Familiarity.of(table(features[:600])), table(features[600:]))
    assert (familiar == 1).mean() > 0.95
    assert familiar.min() > 0.5


def test_a_row_half_way_out_counts_half():
    found = Familiarity.of(table(np.linspace(0.0, 1.0, 101)[:, None]))
    out = 1.0 + 1.5 * found.reach * found.index.scaling.deviations[0]
    assert familiarity(found, table(np.array([[0.5], [out]]))) == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("rows", [600, 6000])
def test_neighbours_of_another_graph_save_searches_and_change_nothing(rows, rng):
    """Columns of other units: the graph goes by the widest, familiarity by all. Some rows are near, some far."""
    units = np.array([100.0, 1.0, 0.01])
    features = rng.standard_normal((rows, 3)) * units
    fitted = table(features)
    scales = np.repeat([1.0, 3.0, 30.0], 300)[:, None]
    later = rng.standard_normal((900, 3)) * scales * units
    index = Index.of(features, search_order(fitted), standardised=False, name="fitted")
    joining = Joining(5, False, np.ones(rows))
    edges = Edges.of(later, index, joining)
    found = Familiarity.of(fitted)
    searched = found.at(later, Edges.of(later, None, joining), None)
    assert 0 < (searched == 0).sum() < (searched < 1).sum() < 900
    np.testing.assert_array_equal(found.at(later, edges, index), searched)
    # The distance of a row does not depend on the rows beside it.
    alone = later[-300:]
    np.testing.assert_array_equal(found.at(alone, Edges.of(alone, index, joining), index), searched[-300:])


def test_where_most_rows_have_doubles_near_rows_are_familiar(rng):
    features = np.repeat(rng.standard_normal((20, 3)), 10, axis=0)
    assert familiarity(Familiarity.of(table(features)), table(features[::10] + 0.1)).min() == 1.0


def test_a_rare_value_and_rows_of_the_fit_are_familiar(rng):
    """Nearly all rows are equal, so that nearest distances are 0; and fitted rows far from the others."""
    rare = np.concatenate([np.zeros(54), np.ones(6)])[:, None]
    assert familiarity(Familiarity.of(table(rare)), table(rare)).min() == 1.0
    every_second = np.where(np.arange(4000) % 2, rng.standard_normal(4000), 0.0)[:, None]
    assert familiarity(Familiarity.of(table(every_second)), table(every_second)).min() == 1.0
    apart = rng.standard_normal((5000, 4))
    apart[1001:1006] += 25.0
    assert familiarity(Familiarity.of(table(apart)), table(apart)).min() == 1.0


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_a_table_of_four_rows_refines_many_later_ones(rng):
    main = table(rng.standard_normal((4, 2)))
    theirs = mf.Observations(rng.standard_normal(4), ids=main.keys, name="theirs")
    later = mf.Observations(np.arange(40.0), rng.standard_normal((40, 2)), ids=range(40))
    assert mf.refine(main, [theirs], rng=0).apply(later).shape == (40,)


def test_without_features_that_vary_nothing_is_compared(case):
    assert Familiarity.of(remade(case.main, features=None)) is None
    assert Familiarity.of(remade(case.main, features=np.ones((len(case.main), 2)))) is None


@pytest.mark.parametrize(
    "change, says",
    [
        (
            lambda frame: frame.assign(b=frame["b"] * 100),
            r"later differs .* in column 'b' of the features, by up to 6\d\.\d",
        ),
        (lambda frame: frame + 2 * frame.std(), "in columns '.', '.', '.', '.' of the features"),
        (lambda frame: frame.assign(b=frame["b"] + 1.7)[:60], r"in column 'b' of the features, by up to [12]\.\d"),
        (lambda frame: frame.assign(d=frame["d"] + 5.0).to_numpy(), "in column 3 of the features"),
        (lambda frame: frame.assign(c=frame["c"] + 30.0)[:2], r"in column 'c' of the features, by up to \d\d\.\d"),
    ],
    ids=["other units", "shifted", "a little shifted", "without names", "two rows"],
)
def test_strange_columns_are_named(rng, change, says):
    frame = pd.DataFrame(rng.standard_normal((900, 4)), columns=list("abcd"))
    later = table(change(frame[400:]), name="later")
    with pytest.warns(mf.ManifuseWarning, match=says) as caught:
        Familiarity.of(table(frame[:400])).warn_of_strange(later)
    assert len(caught) == 1


@pytest.mark.parametrize("factor", [10.0, 10_000.0])
@pytest.mark.parametrize("values", ["flags", "amounts"])
def test_other_units_are_found_if_most_values_are_zero(rng, values, factor):
    rare = (rng.random(900) < 0.08) * (rng.lognormal(size=900) if values == "amounts" else 1.0)
    frame = np.column_stack([rng.standard_normal(900), rare])
    later = table(np.column_stack([frame[400:, 0], factor * frame[400:, 1]]), name="later")
    with pytest.warns(mf.ManifuseWarning, match="later differs .* in column 1 of the features"):
        Familiarity.of(table(frame[:400])).warn_of_strange(later)


@pytest.mark.parametrize("factor", [1e-3, 0.1, 10.0, 1e3])
def test_other_units_of_a_skewed_column_are_found(rng, factor):
    """Thousandths of amounts are all within a standard deviation of their mean."""
    frame = np.column_stack([rng.standard_normal(900), rng.lognormal(sigma=1.5, size=900)])
    later = frame[400:] * [1.0, factor]
    with pytest.warns(
        mf.ManifuseWarning,
        match=r"in column 1 of the features(, by up to|: a median is beyond (all|\d+.\d% of the) fitted)",
    ):
        Familiarity.of(table(frame[:400])).warn_of_strange(table(later, name="later"))


@pytest.mark.parametrize("value", [0.1, 0.2, 0.3, 0.6])
def test_single_precision_and_rounding_make_no_column_strange(rng, value):
    rare = rng.random(700) < 0.2
    fitted = np.where(rare[:400], 1.1, value).astype(np.float32).astype(np.float64)
    later = np.where(rare[400:], 1.1, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Familiarity.of(table(fitted[:, None])).warn_of_strange(table(later[:, None]))
        zeros = np.where(rare[:400], 1.1, 0.0)
        Familiarity.of(table(zeros[:, None])).warn_of_strange(table(np.where(rare[400:], 1.1, 1e-12)[:, None]))


def test_a_column_that_was_filled_with_one_value_is_named(rng):
    frame = np.column_stack([rng.standard_normal((900, 2)), rng.random(900) < 0.01])
    later = np.column_stack([frame[400:, 0], np.full(500, np.median(frame[:400, 1])), np.zeros(500)])
    with pytest.warns(mf.ManifuseWarning, match="later has one value in all rows of column 1 of the") as caught:
        Familiarity.of(table(frame[:400])).warn_of_strange(table(later, name="later"))
    assert len(caught) == 1


def test_usual_rows_are_not_called_strange(rng):
    """Also single rows, and rare values of a column of zeros and ones."""
    features = np.column_stack([rng.standard_normal((600, 3)), rng.random(600) < 0.02, rng.lognormal(size=600)])
    fitted = Familiarity.of(table(features[:400]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1, 2, 5, 20, 100):
            for first in range(400, 600 - size, 3):
                fitted.warn_of_strange(table(features[first : first + size]))


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_a_row_that_no_reference_knows_keeps_its_place_without_features():
    case = draw(6, features=False, rows=200)
    result = mf.refine(case.main, case.references, method=mf.JointDiffusion(same_target=True), rng=0)
    strangers = remade(case.main, ids=[f"stranger {row}" for row in range(200)])
    np.testing.assert_allclose(np.sort(result.apply(strangers)), np.sort(result.scores))


def test_the_place_of_a_score_is_that_of_its_rank(rng):
    fitted = rng.standard_normal(50)
    refined = rng.permutation(np.exp(fitted))
    np.testing.assert_allclose(alone_of(fitted, refined)(fitted), np.exp(fitted))
    assert alone_of(fitted, 3.0 * fitted + 1.0)(np.array([np.median(fitted)]))[0] == pytest.approx(
        3 * np.median(fitted) + 1
    )
    # Beyond the ends, a score is as many standard deviations away.
    beyond = alone_of(fitted, 3.0 * fitted + 1.0)(np.array([fitted.max() + 2.0, fitted.min() - 1.0]))
    np.testing.assert_allclose(beyond, [3 * fitted.max() + 7.0, 3 * fitted.min() - 2.0])


def test_equal_scores_have_one_place():
    fitted, refined = np.array([1.0, 1.0, 2.0, 2.0]), np.array([0.4, 0.1, 0.3, 0.2])
    np.testing.assert_allclose(alone_of(fitted, refined)(np.array([1.0, 2.0])), [0.15, 0.35])


@pytest.mark.filterwarnings("ignore:Rows of:manifuse.ManifuseWarning")
def test_rows_that_come_again_in_other_units_are_told_of(case, result):
    again = remade(case.main, predictions=100.0 * case.main.scores)
    with pytest.warns(mf.ManifuseWarning, match="The scores of .* differ from the fitted ones by .* check the units"):
        result.apply(again)
    with pytest.warns(mf.ManifuseWarning, match="The scores of .* differ from the fitted ones by .* check the units"):
        result.fitted_model.compare_with_fitted(again)
    # A warning would be an error.
    result.fitted_model.compare_with_fitted(case.main)


def test_later_scores_that_are_small_beside_a_fitted_one_are_not_called_equal(case):
    fitted = remade(case.main, predictions=np.append(case.main.scores[:-1], 1e200))
    later = remade(case.main, ids=[f"later {key}" for key in case.main.keys])
    known = np.zeros(len(later), dtype=bool)
    # A warning would be an error.
    warn_of_units(later, fitted, known)
    with pytest.warns(mf.ManifuseWarning, match="new or changed rows are equal"):
        warn_of_units(remade(later, predictions=np.full(len(later), 3.0)), fitted, known)


NAMES = ("age", "height", "weight")


def small(features, names, scores=(0.1, 0.5, 0.9, 0.3)):
    return mf.Observations(list(scores), features, ids=list("abcd"), feature_names=names, name="ours")


@pytest.mark.parametrize(
    "order, names, further",
    [([0, 1, 2], NAMES, 0), ([2, 0, 1], ("weight", "age", "height"), 0), ([1, 2, 0], ("height", "weight", "age"), 1)],
)
@pytest.mark.parametrize("changed", [0, 2])
def test_features_are_compared_by_name_whatever_their_order(order, names, further, changed):
    features = np.random.default_rng(0).standard_normal((4, 3))
    later = features.copy()
    later[changed, 1] += 1.0
    beside = np.zeros((4, further))
    names = (*names, *("further",) * further)
    new = small(np.column_stack([later[:, order], beside]), names)
    found = changed_rows(new, small(features, NAMES), np.arange(4), np.array([True, True, True, False]))
    assert np.flatnonzero(found).tolist() == [changed]


def test_features_without_names_are_compared_by_position_and_missing_ones_not_at_all():
    features = np.random.default_rng(0).standard_normal((4, 3))
    fitted, known = small(features, NAMES), np.ones(4, dtype=bool)
    assert changed_rows(small(features[:, ::-1], None), fitted, np.arange(4), known).all()
    assert not changed_rows(small(features[:, :2] + 1.0, NAMES[:2]), fitted, np.arange(4), known).any()


@pytest.mark.parametrize("unit, offset", [(1.0, 0.0), (2.0**-40, 0.0), (1e-300, 0.0), (7200.0, 1.7e9), (1e200, 0.0)])
def test_changed_features_are_found_in_all_units_and_what_single_precision_loses_is_no_change(unit, offset):
    features = offset + unit * np.random.default_rng(0).standard_normal((4, 3))
    fitted, known = small(features, NAMES), np.ones(4, dtype=bool)
    later = features.copy()
    later[2, 1] += unit
    found = changed_rows(small(later, NAMES), fitted, np.arange(4), known)
    assert np.flatnonzero(found).tolist() == [2]
    if unit > 1e-30 and unit < 1e30:
        single = features.astype(np.float32)
        assert not changed_rows(small(single, NAMES), fitted, np.arange(4), known).any()


@pytest.mark.parametrize("kind", ["skewed", "probability", "classes"])
def test_changed_scores_are_found_where_a_few_are_much_larger_and_rounded_ones_are_the_same(kind):
    rng, ids = np.random.default_rng(0), [f"r{row}" for row in range(60)]
    features = rng.standard_normal((60, 3))
    came, more = np.exp(3.5 * rng.standard_normal(60)), {}
    if kind != "skewed":
        came, more = 1.0 / (1.0 + came), {"scale": "probability"}
    if kind == "classes":
        came, more = np.column_stack([came, 1.0 - came]), {"classes": ["a", "b"]}
    fitted, known = mf.Observations(came, features, ids=ids, name="ours", **more), np.ones(60, dtype=bool)
    single = mf.Observations(came.astype(np.float32), features, ids=ids, name="ours", **more)
    assert not changed_rows(single, fitted, np.arange(60), known).any()
    lowest = int(np.argmin(came if came.ndim == 1 else came[:, 0]))
    later = came.copy()
    later[lowest] = (
        1.5 * came[lowest] if kind == "skewed" else later[lowest] + np.resize([0.01, -0.01], later[lowest].shape)
    )
    found = changed_rows(mf.Observations(later, features, ids=ids, name="ours", **more), fitted, np.arange(60), known)
    assert np.flatnonzero(found).tolist() == [lowest]
    if kind == "classes":
        turned = mf.Observations(came[:, ::-1], features, ids=ids, name="ours", classes=["b", "a"])
        assert not changed_rows(turned, fitted, np.arange(60), known).any()


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_a_changed_score_is_found_however_large_the_offset_of_all_scores_is(offset):
    rng, ids, known = np.random.default_rng(0), [f"r{row}" for row in range(60)], np.ones(60, dtype=bool)
    came, features = offset + 3.0 * rng.standard_normal(60), rng.standard_normal((60, 3))
    fitted = mf.Observations(came, features, ids=ids, name="ours")
    later = came.copy()
    later[[4, 9]] += [1.5, -0.01]
    found = changed_rows(mf.Observations(later, features, ids=ids, name="ours"), fitted, np.arange(60), known)
    assert np.flatnonzero(found).tolist() == [4, 9]
    single = mf.Observations(came.astype(np.float32), features, ids=ids, name="ours")
    assert not changed_rows(single, fitted, np.arange(60), known).any()


def test_what_rounding_leaves_of_a_zero_is_no_change():
    features = np.random.default_rng(0).standard_normal((4, 3))
    features[1, 2] = 0.0
    later, known = features.copy(), np.ones(4, dtype=bool)
    later[1, 2] = 1e-12
    assert not changed_rows(small(later, NAMES), small(features, NAMES), np.arange(4), known).any()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_the_text_of_a_number_in_single_precision_is_that_number(offset):
    rng, ids, known = np.random.default_rng(0), [f"r{row}" for row in range(60)], np.ones(60, dtype=bool)
    plain = np.column_stack([offset + rng.standard_normal(60), rng.standard_normal((60, 3))])
    single = plain.astype(np.float32)
    written = single.astype(str).astype(np.float64)
    tables = [mf.Observations(each[:, 0], each[:, 1:], ids=ids, name="ours") for each in (plain, single, written)]
    for fitted in tables:
        for new in tables:
            assert not changed_rows(new, fitted, np.arange(60), known).any()
    other = written.copy()
    other[7, 2] += 1e-5
    other[9, 0] += 0.25
    new = mf.Observations(other[:, 0], other[:, 1:], ids=ids, name="ours")
    assert np.flatnonzero(changed_rows(new, tables[0], np.arange(60), known)).tolist() == [7, 9]


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize(
    "unit, rows, is_strange", [(0.01, 100, True), (1e-9, 100, True), (0.3, 100, False), (0.01, 9, 0)]
)
def test_later_scores_in_much_smaller_units_are_warned_of(case, unit, rows, is_strange):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    later = remade(
        case.main, predictions=unit * case.main.scores, ids=[f"later {row}" for row in range(len(case.main))]
    )
    with warnings.catch_warnings(record=True) as given:
        result.apply(later.take(np.arange(rows)))
    found = [str(each.message) for each in given if each.message.code == "strange_scores"]
    assert len(found) == is_strange
    assert all("vary by" in each for each in found)


@pytest.mark.filterwarnings("error::manifuse.errors.ManifuseWarning")
def test_a_few_large_scores_are_no_other_units():
    scores = np.random.default_rng(0).standard_normal((8, 25))
    scores[3, 7] = 1e3
    fitted, later = (
        mf.Observations(each.ravel(), ids=[f"{kind} {row}" for row in range(each.size)])
        for kind, each in (("fitted", scores), ("later", scores[:1]))
    )
    assert later.scores.std() < 0.1 * fitted.scores.std()
    warn_of_units(later, fitted, np.zeros(25, dtype=bool))


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("sign, rows, is_reversed", [(-1.0, 300, 1), (1.0, 300, 0), (-1.0, 19, 0)])
def test_later_scores_that_run_against_similar_rows_are_warned_of(rng, sign, rows, is_reversed):
    features = rng.standard_normal((600, 3))
    scores = features[:, 0] + 0.3 * rng.standard_normal(600)
    main = mf.Observations(scores[:300], features[:300], ids=range(300), name="ours")
    partner = mf.Observations(features[:100, 0], ids=range(100), name="theirs")
    result = mf.refine(main, [partner], rng=0)
    later = mf.Observations(sign * scores[300:], features[300:], ids=range(300, 600), name="later")
    with warnings.catch_warnings(record=True) as given:
        result.apply(later.take(np.arange(rows)))
    assert [each.message.code for each in given].count("reversed_scores") == is_reversed


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("fitted", [120, 300], ids=["some known", "all known"])
@pytest.mark.parametrize(
    "sign, shift, rows, says",
    [(-1, 0, 200, "run against"), (1, 2.0, 200, "differ from"), (1, 0, 200, None), (-1, 0, 19, None)],
)
def test_a_reference_whose_later_scores_are_unlike_its_fitted_ones_is_warned_of(rng, fitted, sign, shift, rows, says):
    features, truth = smooth_truth(rng, 600)
    features[300:, 0] += 0.5  # later rows may come from elsewhere
    ours, theirs = (truth + noise * rng.standard_normal(600) for noise in (0.7, 0.3))
    main = mf.Observations(ours[:300], features[:300], ids=range(300), name="ours")
    known = np.r_[:fitted, 300:500]
    theirs[300:] = shift + sign * theirs[300:]
    result = mf.refine(main, [mf.Observations(theirs[known], ids=known, name="theirs")], rng=0)
    later = mf.Observations(ours[300:], features[300:], ids=range(300, 600), name="later")
    with warnings.catch_warnings(record=True) as given:
        # Fitted rows that come again do not count.
        result.apply(main.followed_by(later.take(np.r_[:rows, 200:300])))
    found = [str(each.message) for each in given if each.message.code == "strange_reference"]
    assert len(found) == (says is not None)
    assert says is None or (says in found[0] and "theirs" in found[0])


def test_later_scores_of_a_reference_that_is_not_followed_are_not_compared(rng):
    features, truth = smooth_truth(rng, 600)
    ours, good, opposed = (truth + 0.3 * rng.standard_normal(600) for _ in range(3))
    opposed[:300] *= -1.0
    known = np.r_[:150, 300:500]
    others = [mf.Observations(each[known], ids=known, name=name) for name, each in {"a": good, "b": opposed}.items()]
    main = mf.Observations(ours[:300], features[:300], ids=range(300), name="ours")
    result = mf.refine(main, others, same_target=True, rng=0)
    assert [bool(weight) for weight in result.weights] == [True, False]
    # A warning would be an error.
    result.apply(mf.Observations(ours[300:], features[300:], ids=range(300, 600), name="later"))


def test_where_features_say_nothing_of_scores_these_are_not_called_reversed(rng):
    features, scores = rng.standard_normal((600, 3)), rng.standard_normal(600)
    main = mf.Observations(scores[:300], features[:300], ids=range(300))
    fitted = Familiarity.of(main)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (20, 50, 300):
            for first in range(300, 601 - size, 5):
                here = slice(first, first + size)
                new = mf.Observations(scores[here], features[here], ids=range(size))
                fitted.warn_of_scores(new, main)


@pytest.mark.parametrize("classes", [False, True])
def test_scores_that_were_joined_to_the_features_of_other_rows_are_warned_of(rng, classes):
    features = rng.standard_normal((600, 3))
    scores = 3.0 * features[:, 0] + rng.standard_normal(600)
    if classes:
        scores = 1.0 / (1.0 + np.exp(-np.column_stack([scores, -scores])))
    given = {"classes": ["no", "yes"]} if classes else {}
    main = mf.Observations(scores[:300], features[:300], ids=range(300), **given)
    fitted, told = Familiarity.of(main), 0
    for first in range(300, 600, 100):
        here, others = np.arange(first, first + 100), np.roll(np.arange(first, first + 100), 1)
        # A warning would be an error.
        fitted.warn_of_scores(mf.Observations(scores[here], features[here], ids=range(100), **given), main)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.warn_of_scores(mf.Observations(scores[here], features[others], ids=range(100), **given), main)
        told += [each.message.code for each in caught] == ["unrelated_scores"]
    # The other one may be called reversed, or correlate by chance.
    assert told >= 2


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize(
    "places, said", [((0, 2, 1), "b as c, c as b"), ((2, 0, 1), "a as b, b as c, c as a"), ((0, 1, 2), "")]
)
def test_exchanged_columns_of_classes_are_warned_of(rng, places, said):
    features = rng.standard_normal((300, 3))
    values = np.exp(features + 0.5 * rng.standard_normal((300, 3)))
    shares = values / values.sum(axis=1, keepdims=True)
    main = mf.Observations(shares[:200], features[:200], ids=range(200), classes=list("abc"), name="ours")
    called = ["abc"[place] for place in places]
    new = mf.Observations(shares[200:], features[200:], ids=range(200, 300), classes=called, name="later")
    with warnings.catch_warnings(record=True) as given:
        Familiarity.of(main).warn_of_scores(new, main)
    assert [str(each.message) for each in given] == (
        [
            f"The probabilities of later are those of other classes in similar fitted rows ({said}); check the names "
            "of its columns, and the order of the features."
        ]
        if said
        else []
    )


def test_where_features_say_nothing_of_classes_these_are_not_called_exchanged():
    """Three standard errors, as of scores."""
    rng, found = np.random.default_rng(0), 0
    for _ in range(300):
        later, similar = rng.dirichlet(np.ones(4), (2, 50))
        found += bool((exchanged(later, similar, 6.0 / np.sqrt(50)) != np.arange(4)).any())
    assert found <= 2


def test_columns_are_named_however_they_are_sorted(rng):
    """They are searched by name, and were fitted in another order."""
    features = rng.standard_normal((300, 3)) * [1.0, 10.0, 100.0]
    features[0] = [4.0, 30.0, 250.0]
    names = ("z", "b", "a")
    ours = mf.Observations(features[:, 0], features, ids=range(300), feature_names=names, name="ours")
    other = mf.Observations(features[:60, 0] + rng.standard_normal(60), ids=range(60), name="other")
    result = mf.refine(ours, [other], rng=0)
    for column, name in enumerate(names):
        for change, code in ((1e6, "strange_columns"), (0.0, "filled_columns")):
            later = rng.standard_normal((80, 3)) * [1.0, 10.0, 100.0]
            later[:, column] = change
            new = mf.Observations(
                rng.standard_normal(80), later, ids=range(1000, 1080), feature_names=names, name="new"
            )
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result.apply(new)
            said = [str(each.message) for each in caught if each.message.code in ("strange_columns", "filled_columns")]
            assert len(said) == 1
            assert repr(name) in said[0]
            assert not any(repr(other) in said[0] for other in names if other != name)
            assert [each.message.code for each in caught if str(each.message) == said[0]] == [code]
