"""What a refinement must do, what must not change it, and what it must refuse."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.special import expit
from scipy.stats import rankdata

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Standing
from manifuse.report.refinement_tables import relevance_grid
from manifuse.tables.pairing import pairs_of
from tests.problems import draw, larger, remade

METHODS = {
    "default": mf.JointDiffusion(),
    "told": mf.JointDiffusion(same_target=True),
    "explicit": mf.JointDiffusion(diffusion=mf.Algorithm1(bridge=mf.ExplicitEuler(step=0.3, steps=5), rounds=3)),
}
TOLD = METHODS["told"]


def corr(a, b):
    return float(np.corrcoef(np.asarray(a), np.asarray(b))[0, 1])


@pytest.fixture(params=METHODS)
def method(request):
    return METHODS[request.param]


@pytest.mark.parametrize("labelled", [False, True])
def test_a_noisy_predictor_gets_better_by_references_on_other_rows(method, labelled):
    for seed in range(2):
        case = draw(seed)
        result = mf.refine(case.main, case.references, case.labels() if labelled else None, method, rng=0)
        unseen = np.setdiff1d(np.arange(len(case.main)), case.labelled)
        before, after = (
            ranking_accuracy(case.truth[unseen], np.asarray(scores)[unseen])
            for scores in (case.main.scores, result.predictions)
        )
        assert after > before + 0.02


def test_with_shuffled_pairs_references_that_must_show_it_are_not_followed():
    case = draw(1)
    shuffled = []
    for k, reference in enumerate(case.references):
        paired = np.flatnonzero(np.char.startswith(reference.keys, "m"))
        keys = reference.keys.copy()
        keys[paired] = np.random.default_rng(k).permutation(keys[paired])
        shuffled.append(remade(reference, ids=keys))
    result = mf.refine(case.main, shuffled, method=mf.JointDiffusion(same_target=False), rng=0)
    assert all(entry.weight == 0 for entry in result.relevance)
    assert not result.accepted
    assert result.reason in (Reason.NOT_SHOWN, Reason.WORSE, Reason.DIFFER)
    np.testing.assert_array_equal(result.predictions, case.main.scores)


def test_the_same_seed_gives_the_same_bits(method):
    case = draw(2)
    first, second = (mf.refine(case.main, case.references, case.labels(), method, rng=7) for _ in range(2))
    np.testing.assert_array_equal(first.predictions, second.predictions)
    np.testing.assert_array_equal(first.uncertainty, second.uncertainty)
    assert first.relevance == second.relevance
    # They are compared as text: there a score of NaN equals itself.
    assert repr(first.history) == repr(second.history)


def test_a_result_remembers_its_seed():
    case = draw(2)
    first = mf.refine(case.main, case.references, rng=None)
    again = mf.refine(case.main, case.references, rng=first.seed)
    assert first.relevance == again.relevance
    assert mf.refine(case.main, case.references, rng=np.random.default_rng(3)).seed != first.seed
    assert mf.refine(case.main, case.references, rng=np.int64(5)).seed == 5


@pytest.fixture(
    scope="module", params=[(name, labelled) for name in ("default", "explicit") for labelled in (False, True)]
)
def plain(request):
    """A problem with or without labels, how it is refined, and what comes out."""
    name, labelled = request.param
    # References that are left out as chance would hide what changes.
    method = replace(METHODS[name], diffusion=replace(METHODS[name].diffusion, ignore_chance=False))
    case = draw(3, references=3)
    labels = case.labels() if labelled else None
    result = mf.refine(case.main, case.references, labels, method, rng=0)
    assert result.accepted
    return case, labels, method, result


def test_shift_and_scale_of_the_main_predictor_carry_over(plain):
    case, labels, method, result = plain
    moved = mf.refine(
        remade(case.main, predictions=5.0 + 3.0 * case.main.scores), case.references, labels, method, rng=0
    )
    np.testing.assert_allclose(moved.predictions, 5.0 + 3.0 * result.predictions, rtol=1e-6, atol=1e-6)
    if labels is not None:
        np.testing.assert_allclose(moved.uncertainty, 3.0 * result.uncertainty, rtol=1e-4)


def test_shift_and_scale_of_a_reference_do_not_matter(plain):
    case, labels, method, result = plain
    first, *others = case.references
    changed = [remade(first, predictions=4.0 + 2.0 * first.scores), *others]
    again = mf.refine(case.main, changed, labels, method, rng=0)
    np.testing.assert_allclose(again.predictions, result.predictions, atol=1e-6)
    assert again.weights == pytest.approx(result.weights, abs=1e-6)


def test_the_order_of_rows_does_not_matter(plain):
    case, labels, method, result = plain
    order = np.random.default_rng(0).permutation(len(case.main))
    shuffled = remade(
        case.main, predictions=case.main.scores[order], features=case.main.table[order], ids=case.main.keys[order]
    )
    again = mf.refine(shuffled, case.references, labels, method, rng=0)
    np.testing.assert_allclose(again.predictions, np.asarray(result.predictions)[order], atol=1e-6)


def test_the_order_of_references_does_not_matter(plain):
    case, labels, method, result = plain
    again = mf.refine(case.main, case.references[::-1], labels, method, rng=0)
    np.testing.assert_allclose(again.predictions, result.predictions, atol=1e-6)
    assert again.weights == pytest.approx(result.weights[::-1], abs=1e-6)


def test_a_single_reference_needs_no_list():
    case = draw(0, references=1)
    alone = mf.refine(case.main, case.references[0], rng=0)
    np.testing.assert_array_equal(alone.predictions, mf.refine(case.main, case.references, rng=0).predictions)


def test_coupled_tables_need_no_features_and_are_the_identity_bridge():
    case = draw(6, features=False)
    result = mf.refine(case.main, case.references, method=TOLD, rng=0)
    assert corr(result.predictions, case.truth) > corr(case.main.scores, case.truth)
    assert all(entry.reached == 1.0 and entry.fidelity == 1.0 for entry in result.relevance)
    np.testing.assert_allclose(result.support, 1.0, rtol=1e-14)


def test_without_labels_features_change_nothing_where_all_ids_are_common(rng):
    case = draw(6, features=False)
    with_features = [
        remade(table, features=rng.standard_normal((len(table), 3))) for table in (case.main, *case.references)
    ]
    plain = mf.refine(case.main, case.references, method=TOLD, rng=0)
    again = mf.refine(with_features[0], with_features[1:], method=TOLD, rng=0)
    assert plain.accepted
    np.testing.assert_array_equal(again.predictions, plain.predictions)


def test_a_coupled_reference_may_have_more_rows_in_another_order(rng):
    case = draw(6, features=False)
    plain = mf.refine(case.main, case.references, method=TOLD, rng=0)
    again = mf.refine(case.main, larger(case.references, rng), method=TOLD, rng=0)
    assert plain.accepted
    np.testing.assert_allclose(again.predictions, plain.predictions, atol=1e-10)


@pytest.mark.parametrize("labelled", [False, True])
def test_float32_agrees_with_float64(labelled):
    case = draw(8)
    labels = case.labels() if labelled else None
    single = [
        remade(table, predictions=table.scores.astype(np.float32), features=table.table.astype(np.float32))
        for table in (case.main, *case.references)
    ]
    result = mf.refine(case.main, case.references, labels, rng=0)
    again = mf.refine(single[0], single[1:], labels, rng=0)
    assert result.accepted
    assert again.predictions.dtype == np.float32
    assert np.abs(again.predictions - result.predictions).max() < 1e-4 * np.std(result.predictions)


@pytest.mark.parametrize("labelled", [False, True])
def test_references_of_pure_noise_are_found_out_and_do_no_harm(labelled):
    harm, chance = [], 0
    for seed in range(5):
        case = draw(seed)
        rng = np.random.default_rng(100 + seed)
        noise = [
            remade(reference, predictions=rng.standard_normal(len(reference)), name=f"noise {k}")
            for k, reference in enumerate(case.references)
        ]
        labels = case.labels() if labelled else None
        plain = mf.refine(case.main, case.references, labels, rng=0)
        noisy = mf.refine(case.main, [*case.references, *noise], labels, rng=0)
        chance += sum(abs(entry.held_out_alignment) > entry.chance_alignment for entry in noisy.relevance[2:])
        # Two of four references that are noise may be taken for a sign that all predict other things.
        assert noisy.accepted or noisy.reason is Reason.DIFFER
        if noisy.accepted:
            harm.append(corr(plain.predictions, case.truth) - corr(noisy.predictions, case.truth))
    # Of 10 references of noise, we expect one in twenty above its chance level of 95 %.
    assert chance <= 2
    assert len(harm) >= 4
    assert np.mean(harm) < 0.01


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("another", [lambda scores: 2.0 * scores + 1.0, np.exp, expit, rankdata, np.round])
def test_a_duplicate_of_the_main_predictor_does_no_harm(labelled, another):
    case = draw(8)
    labels = case.labels() if labelled else None
    duplicate = remade(case.main, predictions=another(case.main.scores), name="duplicate")
    plain = mf.refine(case.main, case.references, labels, rng=0)
    with pytest.warns(mf.ManifuseWarning, match="repeats the scores of main"):
        again = mf.refine(case.main, [*case.references, duplicate], labels, rng=0)
    assert plain.accepted
    np.testing.assert_allclose(again.predictions, plain.predictions, atol=1e-8)
    assert again.weights[2] == 0.0


def test_three_rows_that_agree_by_chance_are_no_copy():
    main, other = (
        mf.Observations(scores, ids=list("abc"), name="main") for scores in ([0.0, 1.0, 2.0], [0.0, 1.0, 2.01])
    )
    with pytest.warns(mf.ManifuseWarning, match="shares only 3 ids"):
        result = mf.refine(main, [remade(other, name="other")], rng=0)
    assert result.relevance[0].standing is not Standing.IDLE


@pytest.mark.parametrize("rows, decimals", [(9, None), (40, None), (40, 3)])
def test_a_copy_of_a_part_of_the_main_table_does_no_harm(rows, decimals):
    """With nine rows it may be chance that all are alike, so the copy counts as a reference."""
    case = draw(8)
    part, scores = case.main.take(np.arange(rows)), case.main.scores[:rows]
    part = remade(part, predictions=scores if decimals is None else scores.round(decimals), name="part")
    plain = mf.refine(case.main, case.references, rng=0)
    said = "part repeats the scores of main on the rows that both know" if rows == 40 else "shares only 9 ids"
    with pytest.warns(mf.ManifuseWarning, match=said):
        again = mf.refine(case.main, [*case.references, part], rng=0)
    assert np.allclose(again.predictions, plain.predictions, rtol=0, atol=1e-8) is (rows == 40)


def test_references_that_share_no_row_are_named():
    case = draw(8, rows=100)
    theirs = mf.Observations(case.truth, ids=case.main.keys, name="theirs")
    parts = [remade(theirs.take(rows), name=f"part {rows[0]}") for rows in (np.arange(30), np.arange(30, 60))]
    found = mf.refine(case.main, [*parts, remade(theirs.take(np.arange(20, 40)), name="between")], rng=0)
    assert found.evidence.disjoint == ("part 0", "part 30")
    assert "share no common row: “part 0” and “part 30”. Each counts as a reference of its" in " ".join(
        found.summary().split()
    )
    few = [remade(each.take(np.arange(12)), name=each.name) for each in parts]
    assert mf.refine(case.main, few, rng=0).evidence.disjoint == (), "by chance they would share one row"


@pytest.mark.parametrize("what", ["two values", "an outlier"])
def test_scores_that_are_alike_by_chance_are_no_copy(what):
    case = draw(8)
    first = case.references[0]
    rows, there = pairs_of(case.main, first)
    ours, theirs = case.main.scores.copy(), first.scores.copy()
    if what == "two values":
        ours, theirs = (np.where(scores > np.median(scores), 1.0, 0.0) for scores in (ours, theirs))
        theirs[there] = ours[rows]
    else:
        ours[rows[0]] = theirs[there[0]] = 1e6
    main, reference = remade(case.main, predictions=ours), remade(first, predictions=theirs)
    with warnings.catch_warnings():
        # The outlier is warned of.
        warnings.simplefilter("ignore", mf.ManifuseWarning)
        assert mf.refine(main, [reference], rng=0).relevance[0].standing is not Standing.IDLE


def test_a_handful_of_labels_never_makes_a_gain_certain(method):
    case = draw(0)
    wrong = case.main.scores.copy()
    high, low = np.argmax(case.truth), np.argmin(case.truth)
    wrong[[high, low]] = -0.1, 0.1
    labels = mf.RankLabels.from_pairs([case.main.keys[high]], [case.main.keys[low]])
    result = mf.refine(remade(case.main, predictions=wrong), case.references, labels, method, rng=0)
    # One pair alone may be off by one pair.
    assert (result.gain.value, result.gain.standard_error) == (1.0, 1.0)
    assert not result.gain.is_certain
    # Where labels teach and are not certain, the answer of the references counts.
    told = Reason.TOLD if method.same_target else Reason.ASSUMED
    assert result.reason is told


def test_any_iterable_of_references_will_do():
    case = draw(0)
    plain = mf.refine(case.main, case.references, rng=0)
    again = mf.refine(case.main, (reference for reference in case.references), rng=0)
    np.testing.assert_array_equal(again.predictions, plain.predictions)
    np.testing.assert_array_equal(again.apply(case.main), plain.predictions)


def test_one_reference_may_be_coupled_and_another_not():
    case = draw(0)
    coupled = mf.Observations(
        case.truth + 0.5 * np.random.default_rng(0).standard_normal(160), ids=case.main.keys, name="coupled"
    )
    result = mf.refine(case.main, [coupled, case.references[0]], method=TOLD, rng=0)
    assert corr(result.predictions, case.truth) > corr(case.main.scores, case.truth) + 0.1
    assert [entry.fidelity == 1.0 for entry in result.relevance] == [True, False]
    new = remade(case.main, ids=[f"new {row}" for row in range(160)])
    assert corr(result.apply(new), case.truth) > corr(case.main.scores, case.truth) + 0.1


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("size", [1e-165, 1e150])
def test_scores_of_extreme_size_are_refined_like_others(size, labelled):
    case = draw(0)
    labels = case.labels() if labelled else None
    plain = mf.refine(case.main, case.references, labels, rng=0)
    result = mf.refine(remade(case.main, predictions=size * case.main.scores), case.references, labels, rng=0)
    np.testing.assert_allclose(np.asarray(result.predictions) / size, plain.predictions, atol=1e-6)
    if labelled:
        np.testing.assert_allclose(result.uncertainty / size, plain.uncertainty, rtol=1e-4)


def test_a_large_offset_of_the_features_changes_nothing():
    case = draw(0)
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(standardised=False))
    tables = [remade(table, features=np.round(table.table, 6) + 2.0**31) for table in (case.main, *case.references)]
    near = [remade(table, features=table.table - 2.0**31) for table in tables]
    plain = mf.refine(near[0], near[1:], method=method, rng=0)
    again = mf.refine(tables[0], tables[1:], method=method, rng=0)
    np.testing.assert_allclose(again.predictions, plain.predictions, atol=1e-5)


def test_results_can_be_pickled():
    case = draw(0)
    result = mf.refine(remade(case.main, predictions=pd.Series(case.main.scores)), case.references, rng=0)
    again = pickle.loads(pickle.dumps(result))
    new = remade(case.main, ids=[f"new {row}" for row in range(160)])
    np.testing.assert_array_equal(again.apply(new), result.apply(new))


def test_an_accepted_update_is_certain_and_reported():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert result.accepted
    assert result.gain.is_certain
    before, after = result.accuracy.before, result.accuracy.after
    assert after == pytest.approx(min(1.0, before + result.gain.value))
    # The predictions saw the labels; what is reported did not.
    seen = ranking_accuracy(case.truth[-60:], result.predictions[-60:])
    assert result.gain.value < seen - before + 2.0 * result.gain.standard_error


def test_regression_puts_offset_and_scale_back():
    case = draw(11)
    main = remade(case.main, predictions=20.0 + case.main.scores)
    labels = mf.RankLabels(main.keys[-60:], 20.0 + case.truth[-60:])
    method = mf.JointDiffusion(task="regression")
    result = mf.refine(main, case.references, labels, method, rng=0)
    assert result.accuracy.measure == "rmse"
    assert result.accuracy.after < result.accuracy.before
    unseen = slice(0, 100)
    errors = [
        np.abs(np.asarray(p)[unseen] - 20.0 - case.truth[unseen]).mean() for p in (main.scores, result.predictions)
    ]
    assert errors[1] < errors[0]


def test_ordered_pairs_are_labels_too():
    case = draw(0)
    rng = np.random.default_rng(0)
    ends = np.array([rng.choice(case.labelled, 2, replace=False) for _ in range(300)])
    ends = np.array([pair if case.truth[pair[0]] > case.truth[pair[1]] else pair[::-1] for pair in ends])
    ends = np.unique(ends, axis=0)
    labels = mf.RankLabels.from_pairs(case.main.keys[ends[:, 0]], case.main.keys[ends[:, 1]])
    result = mf.refine(case.main, case.references, labels, rng=0)
    assert result.accepted
    assert result.accuracy.after > result.accuracy.before


@pytest.mark.parametrize("kind", [np.asarray, pd.Series, lambda values: pl.Series("score", values), torch.tensor])
def test_predictions_come_back_as_they_came(kind):
    case = draw(0)
    plain = mf.refine(case.main, case.references, rng=0)
    given = kind(case.main.scores)
    result = mf.refine(remade(case.main, predictions=given), case.references, rng=0)
    assert type(result.predictions) is type(given)
    np.testing.assert_array_equal(np.asarray(result.predictions), plain.predictions)


def test_rows_out_of_reach_have_no_support_and_keep_their_place():
    case = draw(0)
    paired = np.isin(case.main.keys, np.concatenate([reference.keys for reference in case.references]))
    island = np.flatnonzero(~paired)[:20]
    features = case.main.table.copy()
    features[island] += 1e3
    result = mf.refine(remade(case.main, features=features), case.references, rng=0)
    other = np.setdiff1d(np.arange(len(features)), island)
    assert result.support[island].max() < 0.1 < np.median(result.support[other])
    assert result.support[paired].min() > 0.4
    assert result.support.max() <= 1.0
    assert all(0.0 < entry.reached < 1.0 for entry in result.relevance)
    assert np.isfinite(result.predictions).all()


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda c: mf.refine(c.main, []), "No reference"),
        (
            lambda c: mf.refine(c.main, c.references, [1, 2]),
            "list came for the table of labels, but RankLabels, ClassLabels or a data",
        ),
        (lambda c: mf.refine(c.main.scores, c.references), "ndarray came for main, but Observations or a data"),
        (lambda c: mf.refine(c.main, c.references, method="fast"), "str came where JointDiffusion"),
        (lambda c: mf.refine(c.main, c.references, rng=-1), "at least 0 was expected"),
        (lambda c: mf.refine(c.main, c.references, rng="0"), "a whole number or"),
        (lambda c: mf.refine(c.main, c.references, rng=0).apply(c.main.scores), "ndarray came for the frame"),
        (lambda c: mf.refine(c.main, [c.references[0]] * 2), "have the same scores of the same rows"),
        (lambda c: mf.refine(c.main, [remade(each, name="theirs") for each in c.references]), "name of its own"),
        (lambda c: mf.refine(remade(c.main, predictions=np.ones(40)), c.references), "All scores of main are equal"),
        (lambda c: mf.refine(c.main, [remade(c.references[0], ids=range(40))]), "shares 0 of its 40 ids"),
        (
            lambda c: mf.refine(remade(c.main, features=None), c.references),
            "main has no features, so nothing connects",
        ),
        (lambda c: mf.refine(c.main, [remade(c.main, name="copy")]), "is the main table itself"),
        (
            lambda c: mf.refine(c.main, c.references, mf.RankLabels(["yy", "zz"], [0, 1])),
            "No label is of an id that main",
        ),
        (
            lambda c: mf.refine(
                c.main,
                c.references,
                mf.RankLabels.from_pairs(["m1"], ["m2"]),
                mf.JointDiffusion(task="regression"),
            ),
            "needs values",
        ),
        (
            lambda c: mf.refine(
                c.main,
                c.references,
                mf.RankLabels(["m1", "m2", "m3"], [1e308, -1e308, 0.0]),
                mf.JointDiffusion(task="regression"),
            ),
            "labels leave the range of numbers",
        ),
        (
            lambda c: mf.refine(c.main, c.references, method=mf.Algorithm1()),
            "Algorithm1 came where JointDiffusion",
        ),
        (
            lambda c: mf.refine(remade(c.main, features=np.ones((40, 2))), c.references),
            "feature rows of main are equal",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_a_sentence(call, says):
    case = draw(0, rows=40, pairs=20)
    with pytest.raises(mf.InputError, match=says) as caught:
        call(case)
    assert "\n" not in str(caught.value)


def test_fewer_than_ten_pairs_warn_and_fewer_than_three_are_refused():
    case = draw(0, pairs=9, references=1)
    with pytest.warns(mf.ManifuseWarning, match="shares only 9 ids"):
        mf.refine(case.main, case.references, rng=0)
    case = draw(0, pairs=2, references=1)
    with pytest.raises(mf.InputError, match="at least 3"):
        mf.refine(case.main, case.references, rng=0)


def test_a_constant_reference_gets_weight_zero_and_a_warning():
    case = draw(0)
    constant = remade(case.references[1], predictions=np.full(160, 3.0))
    with pytest.warns(mf.ManifuseWarning, match="gets weight 0"):
        result = mf.refine(case.main, [case.references[0], constant], rng=0)
    alone = mf.refine(case.main, case.references[:1], rng=0)
    assert result.weights[1] == 0.0
    np.testing.assert_allclose(result.predictions, alone.predictions, atol=1e-8)


@pytest.mark.parametrize("features", [True, False])
def test_a_reference_that_varies_on_other_rows_alone_gets_weight_zero(features):
    case = draw(0, references=1)
    theirs = case.references[0]
    common = np.isin(theirs.keys, case.main.keys)
    assert not common.all()
    table = theirs.table if features else None
    silent = mf.Observations(np.where(common, 3.0, theirs.scores), table, ids=theirs.keys, name="silent")
    with pytest.warns(mf.ManifuseWarning, match="silent on the rows that both know are equal; it gets weight 0"):
        result = mf.refine(case.main, [silent], rng=0)
    assert not result.accepted
    assert result.reason is Reason.NO_REFERENCE


@pytest.mark.parametrize("further", [1e6, np.finfo(np.float32).max, 1e300])
def test_scores_of_rows_that_nobody_else_has_change_nothing_without_features(further):
    """Some programs write a number of this size for "no score"."""
    case = draw(0)
    short = [each.take(np.flatnonzero(np.isin(each.keys, case.main.keys))) for each in case.references]

    def with_a_row(score):
        return [
            mf.Observations(np.append(each.scores, score), ids=[*each.keys, "nobody's"], name=each.name)
            for each in short
        ]

    for labels in (None, case.labels()):
        expected = mf.refine(case.main, with_a_row(0.5), labels, rng=0)
        np.testing.assert_array_equal(mf.refine(case.main, with_a_row(further), labels, rng=0).scores, expected.scores)
    bare = [mf.Observations(each.scores, ids=each.keys, name=each.name) for each in short]
    expected = mf.refine(case.main, bare, rng=0).scores
    np.testing.assert_allclose(mf.refine(case.main, with_a_row(further), rng=0).scores, expected, atol=1e-5)


def test_an_ignored_reference_moves_nothing_and_is_still_reported():
    case = draw(0)
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(rounds=1, ignore_chance=False, standardised=True))
    ignoring = mf.refine(case.main, case.references, method=replace(method, ignored=("reference 2",)), rng=0)
    without = mf.refine(case.main, case.references[:1], method=method, rng=0)
    np.testing.assert_allclose(ignoring.predictions, without.predictions, rtol=0, atol=1e-12)
    assert [entry.weight > 0 for entry in ignoring.relevance] == [True, False]
    assert ignoring.relevance[1].held_out_alignment > 0
    assert ignoring.relevance[1].fidelity is None
    assert ignoring.relevance.grid.body[1][ignoring.relevance.grid.head.index("fidelity")] == "—"
    assert np.isnan(ignoring.relevance.to_frame()["fidelity"][1])
    on_page = relevance_grid(ignoring)
    assert [row[on_page.head.index("fidelity")] == "—" for row in on_page.body] == [False, True]
    mf.plot(ignoring, "relevance")
    with pytest.raises(mf.InputError, match="no reference named 'reference 3'"):
        mf.refine(case.main, case.references, method=mf.JointDiffusion(ignored=("reference 3",)), rng=0)


def test_a_number_that_stands_for_a_missing_value_makes_no_noise_of_other_rows():
    """Features are in tiny units, so that squares of their differences vanish beside that number."""
    rng, rows = np.random.default_rng(10), np.arange(240)
    features = rng.standard_normal((240, 3))
    truth = np.tanh(features[:, 0]) + features[:, 1]
    scores, features = truth + rng.standard_normal(240), 1e-6 * features
    features[rng.choice(240, 5, replace=False), 2] = -9999.0
    pairs = rng.choice(240, 90, replace=False)
    others = np.setdiff1d(rows, pairs)
    theirs = mf.Observations(truth[pairs] + 0.5 * rng.standard_normal(90), ids=pairs, name="theirs")
    ours = mf.Observations(scores, features, ids=rows, name="ours")
    with pytest.warns(mf.ManifuseWarning, match="column 2 of the features of ours are -9999, far from all others"):
        result = mf.refine(ours, [theirs], rng=0)
    before, after = (np.corrcoef(each[others], truth[others])[0, 1] for each in (scores, result.scores))
    assert after > before + 0.08
