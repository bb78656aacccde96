"""Rows that references lack which know all or most of the fitted rows: their scores, and how sure these are."""

import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from scipy.special import softmax
from tests.problems import smooth_truth

import manifuse as mf
from manifuse.columns.change_if_unknown import ChangeIfUnknown
from manifuse.columns.scored import in_units
from manifuse.run.later_rows import LaterRows
from manifuse.tables.classes import Classes

FITTED, LATER = 250, 300


def problem(seed, known):
    """A main table, later rows, two references that know some fitted rows, and the truth of all rows."""
    rng = np.random.default_rng(seed)
    features, smooth = smooth_truth(rng, FITTED + LATER)
    truth = smooth + 0.3 * rng.standard_normal(FITTED + LATER)
    ids = np.array([f"m{row}" for row in range(FITTED + LATER)])
    scores = truth + 0.8 * rng.standard_normal(FITTED + LATER)
    main, later = (
        mf.Observations(scores[rows], features[rows], ids=ids[rows], name="main")
        for rows in (slice(FITTED), slice(FITTED, None))
    )
    chosen = rng.choice(FITTED, known, replace=False)
    references = [
        mf.Observations(truth[chosen] + 0.2 * rng.standard_normal(known), ids=ids[chosen], name=name) for name in "ab"
    ]
    return main, later, references, truth, chosen


@pytest.mark.parametrize("known", [200, FITTED])
def test_intervals_of_ninety_hold_about_ninety_of_rows_that_references_lack(known):
    held, wide = [], []
    for seed in range(5):
        main, later, references, truth, chosen = problem(seed, known)
        labelled = np.random.default_rng(seed).choice(FITTED, 60, replace=False)
        labels = mf.RankLabels(main.keys[labelled], truth[labelled])
        result = mf.refine(main, references, labels, task="regression", rng=0)
        applied = result.apply_in_full(later)
        off = np.abs(applied.scores - truth[FITTED:])
        wide.append(applied.uncertainty.mean() / np.sqrt(np.mean(off**2)))
        hits = off < 1.645 * applied.uncertainty
        unknown = np.setdiff1d(np.arange(FITTED), np.append(chosen, labelled))
        fitted = np.abs(result.scores - truth[:FITTED]) < 1.645 * result.uncertainty
        held.append(np.append(fitted[unknown], hits).mean())
    assert 0.86 < np.mean(held) < 0.97
    assert np.mean(wide) < 1.3


def test_intervals_hold_where_the_best_reference_is_lacking_and_poor_ones_know_all_rows():
    held = []
    for seed in range(5):
        main, later, (best, _), truth, _ = problem(seed, 200)
        noise, everywhere = np.random.default_rng(100 + seed), np.append(main.keys, later.keys)
        poor = [
            mf.Observations(truth + 1.5 * noise.standard_normal(len(truth)), ids=everywhere, name=f"poor {number}")
            for number in range(4)
        ]
        labelled = noise.choice(FITTED, 60, replace=False)
        labels = mf.RankLabels(main.keys[labelled], truth[labelled])
        result = mf.refine(main, [*poor, best], labels, task="regression", rng=0)
        applied = result.apply_in_full(later)
        held.append(np.abs(applied.scores - truth[FITTED:]) < 1.645 * applied.uncertainty)
    assert 0.87 < np.mean(held) < 0.97


def test_the_error_where_references_are_lacking_is_the_change_without_them(monkeypatch):
    """With no certainty, a row follows the reference that knows it, and keeps its own score if none does."""
    main, _, (theirs, _), truth, chosen = problem(0, 200)
    seen, of = [], ChangeIfUnknown.of
    monkeypatch.setattr(ChangeIfUnknown, "of", lambda *given: seen.append(given) or of(*given))
    mf.refine(main, [theirs], mf.RankLabels(main.keys[::4], truth[:FITTED:4]), task="regression", rng=0)
    ((columns, scored, own, rows, *more),) = seen
    scored = replace(scored, certainty=0.0, pairs_follow=True)
    known = np.sort(chosen)
    changes = in_units(scored.expected, rows["expected"][known]) - scored.own.undo(own[known])
    assert of(columns, scored, own, rows, *more).error == pytest.approx(np.sqrt(np.mean(changes**2)))


def test_errors_are_there_if_every_row_lacks_a_reference():
    """Each of three references lacks another third of the rows."""
    main, later, references, truth, _ = problem(1, FITTED)
    known = {each.name: dict(zip(each.keys, each.scores, strict=True)) for each in references}
    thirds = [main.keys[np.arange(FITTED) % 3 != third] for third in range(3)]
    others = [
        mf.Observations([known["a"][key] for key in keys], ids=keys, name=f"lacks {third}")
        for third, keys in enumerate(thirds)
    ]
    result = mf.refine(main, others, mf.RankLabels(main.keys[::4], truth[:FITTED:4]), task="regression", rng=0)
    applied = result.apply_in_full(later)
    off = np.abs(applied.scores - truth[FITTED:])
    assert 0.85 < np.mean(off < 1.645 * applied.uncertainty) < 0.99
    assert np.isfinite(result.uncertainty).all()


def test_without_labels_later_rows_are_imputed_that_references_lack():
    main, later, references, truth, _ = problem(0, FITTED)
    result = mf.refine(main, references, rng=0)
    applied = result.apply_in_full(later)
    before, after = (np.corrcoef(scores, truth[FITTED:])[0, 1] for scores in (later.scores, applied.scores))
    assert after > before + 0.05
    assert np.median(applied.support) > 0.8


def test_a_later_row_far_away_is_refined_if_references_know_it():
    main, _, references, truth, _ = problem(0, FITTED)
    known = [
        mf.Observations(np.append(each.scores, truth.max()), ids=[*each.keys, "far"], name=each.name)
        for each in references
    ]
    result = mf.refine(main, known, rng=0)
    far = mf.Observations([float(np.median(main.scores))], main.table[:1] + 100.0, ids=["far"], name="later")
    with pytest.warns(mf.ManifuseWarning, match="differs from the fitted rows"):
        applied = result.apply_in_full(far)
    assert applied.scores[0] > np.quantile(result.scores, 0.9)
    assert applied.support[0] == 1.0


@pytest.fixture
def common_and_partial(request):
    """A reference that knows all fitted rows and some later ones, and one that knows only some fitted rows."""
    main, later, (common, _), truth, _ = problem(2, FITTED)
    noise = np.random.default_rng(102)
    further = mf.Observations(truth[FITTED : FITTED + 35], ids=later.keys[:35], name="further")
    whole = mf.Observations(
        np.append(common.scores, further.scores), ids=np.append(common.keys, further.keys), name="whole"
    )
    chosen = np.sort(noise.choice(FITTED, request.param, replace=False))
    part = mf.Observations(
        truth[chosen] + 0.2 * noise.standard_normal(len(chosen)), ids=main.keys[chosen], name="part"
    )
    return main, later, [whole, part], mf.RankLabels(main.keys[::4], truth[:FITTED:4])


@pytest.mark.parametrize("common_and_partial", [100, 200], indirect=True)
def test_a_later_row_is_refined_alike_beside_rows_that_a_reference_lacks(common_and_partial):
    main, later, references, labels = common_and_partial
    result = mf.refine(main, references, labels, task="regression", rng=0)
    known = mf.Observations(later.scores[:35], later.table[:35], ids=later.keys[:35], name="later")
    few, all_rows = result.apply_in_full(known), result.apply_in_full(later)
    np.testing.assert_array_equal(few.scores, all_rows.scores[:35])
    np.testing.assert_array_equal(few.uncertainty, all_rows.uncertainty[:35])
    assert few.uncertainty.mean() < all_rows.uncertainty[35:].mean()


@pytest.mark.parametrize("known", [150, 225])
def test_a_reference_that_knows_a_part_widens_no_interval(known):
    """Rows that lack a reference of all fitted rows are no less sure if a second one knows some fitted rows."""
    wide = []
    for seed in range(3):
        main, later, (whole, _), truth, _ = problem(seed, FITTED)
        noise = np.random.default_rng(100 + seed)
        chosen = noise.choice(FITTED, known, replace=False)
        part = mf.Observations(truth[chosen] + 0.2 * noise.standard_normal(known), ids=main.keys[chosen], name="part")
        labels = mf.RankLabels(main.keys[::4], truth[:FITTED:4])
        given = [mf.refine(main, each, labels, task="regression", rng=0) for each in ([whole], [whole, part])]
        one, two = (result.apply_in_full(later).uncertainty.mean() for result in given)
        wide.append(two / one)
    assert np.mean(wide) < 1.05


@pytest.mark.parametrize("known", [350, 400])
def test_the_order_of_many_rows_does_not_count(known):
    """More rows than are drawn to learn what references say of rows that they lack."""
    rng = np.random.default_rng(0)
    features, truth = smooth_truth(rng, 500)
    scores, theirs = (truth + noise * rng.standard_normal(500) for noise in (0.8, 0.3))
    ids = np.array([f"m{row}" for row in range(500)])
    chosen = rng.choice(400, known, replace=False)
    reference = mf.Observations(theirs[chosen], ids=ids[chosen], name="theirs")
    labels, later = mf.RankLabels(ids[:50], truth[:50]), mf.Observations(scores[400:], features[400:], ids=ids[400:])
    applied = [
        mf.refine(
            mf.Observations(scores[order], features[order], ids=ids[order]), [reference], labels, rng=0
        ).apply_in_full(later)
        for order in (np.arange(400), rng.permutation(400))
    ]
    np.testing.assert_allclose(applied[0].scores, applied[1].scores, atol=1e-5)
    np.testing.assert_allclose(applied[0].uncertainty, applied[1].uncertainty, atol=1e-5)


def classified(seed, known=FITTED, classes=5, rare=None):
    """A classifier, later rows, two better ones that know some fitted rows, 50 labels and all classes."""
    rng = np.random.default_rng(seed)
    frequent = None if rare is None else [1.0 - rare, rare]
    truth = rng.choice(classes, FITTED + LATER, p=frequent)
    features = 1.2 * rng.standard_normal((classes, 4))[truth] + rng.standard_normal((FITTED + LATER, 4))
    names, ids = [f"c{place}" for place in range(classes)], np.array([f"m{row}" for row in range(FITTED + LATER)])

    def table(rows, quality, name, values=None):
        said = softmax(2.0 * quality * np.eye(classes)[truth] + rng.standard_normal((FITTED + LATER, classes)), axis=1)
        return mf.Observations(said[rows], values, ids=ids[rows], classes=names, name=name)

    own = table(slice(None), 0.6, "ours")
    main, later = (
        mf.Observations(own.came[rows], features[rows], ids=ids[rows], classes=names, name="ours")
        for rows in (slice(FITTED), slice(FITTED, None))
    )
    everywhere = [table(slice(None), 0.9, name) for name in "ab"]
    chosen = np.sort(rng.choice(FITTED, known, replace=False))
    labelled = rng.choice(FITTED, 50, replace=False)
    labels = mf.ClassLabels(ids[labelled], np.array(names)[truth[labelled]])
    return main, later, everywhere, [each.take(chosen) for each in everywhere], labels, truth


def as_they_were():
    """Leave later rows as sure as if the references knew them."""
    return mock.patch.object(LaterRows, "_cooled", lambda self, found, temperature, rows: found)


def of_scores(table):
    """The same as risks of the last class."""
    return mf.Observations(table.came[:, -1], table.table, ids=table.keys, scale="probability", name=table.name)


@pytest.mark.parametrize("kind", ["classes", "risks", "rare risks"])
def test_later_rows_are_less_sure_where_references_lack_them_that_know_all_others(kind):
    too_sure, as_before, off = [], [], []
    for seed in range(6 if kind == "classes" else 12):
        rare = 0.1 if kind == "rare risks" else None
        main, later, _, references, labels, truth = classified(seed, classes=5 if kind == "classes" else 2, rare=rare)
        right = truth[FITTED:] == 1
        if kind != "classes":
            main, later, *references = map(of_scores, (main, later, *references))
            labels = mf.RankLabels(labels.keys, labels.names == "c1")
        result = mf.refine(main, references, labels, rng=0)
        probabilities = result.apply(later)
        with as_they_were():
            hot = result.apply(later)
        for kept, found in ((too_sure, probabilities), (as_before, hot)):
            if kind == "classes":
                kept.append(found.max(axis=1).mean() - (found.argmax(axis=1) == truth[FITTED:]).mean())
                np.testing.assert_array_equal(found.argmax(axis=1), hot.argmax(axis=1))
            else:
                kept.append(np.maximum(found, 1 - found).mean() - ((found > 0.5) == right).mean())
        off.append(probabilities.mean() - hot.mean())
    assert abs(np.mean(too_sure)) < 0.04
    if kind == "rare risks":
        assert np.ptp(off) > 0.0
    else:
        assert np.mean(as_before) > np.mean(too_sure) + 0.02
    # The mean risk stays.
    assert abs(np.mean(off)) < 0.01


def test_a_row_that_all_references_know_is_as_sure_as_it_was_whatever_comes_beside_it(tmp_path):
    main, later, everywhere, references, labels, _ = classified(0)
    result = mf.refine(main, everywhere, labels, rng=0)
    alone = result.apply(later.take(np.arange(5)))
    with as_they_were():
        np.testing.assert_array_equal(result.apply(later.take(np.arange(5))), alone)
    strange = mf.Observations(
        later.came[5:9], later.table[5:9], ids=[f"strange {row}" for row in range(4)], classes=later.classes.names
    )
    mixed = later.take(np.arange(5)).followed_by(strange)
    mf.save(result, tmp_path / "model.npz")
    for each in (result, mf.load(tmp_path / "model.npz")):
        np.testing.assert_array_equal(each.apply(mixed)[:5], alone)
    # Where one reference of two is lacking, a row is half as much less sure.
    half = mf.refine(main, [everywhere[0], references[1]], labels, rng=0)
    view = half.fitted_model.view(later)
    known = view.known[:, half.fitted_model.columns.references.common]
    assert known.mean() == 0.5
    found = np.random.default_rng(0).standard_normal((len(later), 4))
    rows = half.fitted_model
    cooled = rows._cooled(found, 0.49, view)
    np.testing.assert_allclose(cooled - rows._centre, 0.7 * (found - rows._centre))


@pytest.mark.parametrize("times, expected", [(0.5, 0.5), (1.0, 1.0), (2.0, 1.0)])
def test_rows_become_less_sure_as_the_references_say_and_never_surer(times, expected, rng):
    distances, centre = rng.standard_normal((60, 2)), np.array([0.4, -0.1])
    change = ChangeIfUnknown(centre + times * distances, centre + distances, 1.0)
    assert change.temperature(Classes(("a", "b", "c")), centre) == pytest.approx(expected, rel=1e-4)


def test_without_labels_or_where_they_refuse_no_class_is_less_sure():
    main, later, _, references, labels, _ = classified(0)
    taught, unlabelled = mf.refine(main, references, labels, rng=0), mf.refine(main, references, rng=0)
    scored = replace(taught.fitted_model.scored, certainty=0.0)
    refused = replace(taught, fitted_model=replace(taught.fitted_model, scored=scored))
    for result in (unlabelled, refused):
        probabilities = result.apply(later)
        with as_they_were():
            np.testing.assert_array_equal(result.apply(later), probabilities)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize(("features", "labelled"), [(False, True), (True, True), (False, False)])
@pytest.mark.parametrize("known", ["both", "one", "none"])
def test_later_rows_without_features_that_only_some_references_know_are_told_of(known, features, labelled):
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(500)
    table, ids = (truth[:, None] + rng.standard_normal((500, 2)) if features else None), np.arange(500)
    scores = truth + rng.standard_normal(500)
    fitted, later = (
        mf.Observations(scores[rows], None if table is None else table[rows], ids=ids[rows], name="ours")
        for rows in (slice(400), slice(400, None))
    )
    rows = {"both": (500, 500), "one": (500, 420), "none": (400, 400)}[known]
    references = [
        mf.Observations((truth + 0.5 * rng.standard_normal(500))[:count], ids=ids[:count], name=name)
        for count, name in zip(rows, ("first", "second"), strict=True)
    ]
    labels = mf.RankLabels(ids[:100], truth[:100]) if labelled else None
    result = mf.refine(fitted, references, labels=labels, rng=0)
    with warnings.catch_warnings(record=True) as given:
        result.apply(later)
    said = [str(each.message) for each in given if getattr(each.message, "code", "") == "partly_known"]
    assert len(said) == (known == "one" and labelled and not features)
    assert all(
        each.startswith("80 rows of ours lack scores of second, which all fitted rows have")
        and each.endswith("a refinement without second may be better.")
        for each in said
    )
