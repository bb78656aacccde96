"""Predictors that give probabilities of classes: their log-ratios, refinements, labels and files."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

import manifuse as mf
from manifuse.cli.app import main as command
from manifuse.cli.explore_command import explore_files
from manifuse.columns.run_order import refine_columns
from manifuse.columns.view import View
from manifuse.evidence.class_score import LogLoss, calibrated_without, temperature_of
from manifuse.evidence.labelled import score_of
from manifuse.evidence.reason import Reason
from manifuse.evidence.verdict import Verdict
from manifuse.kernels.rotation import rotation
from manifuse.report.class_shift import ClassShift
from manifuse.report.pictures import pictures_of
from manifuse.report.refinement_page import page_of
from manifuse.run.preparation import prepare
from manifuse.run.truth import names_as_given
from manifuse.tables.arranging import demand_same_classes
from manifuse.tables.classes import Classes
from manifuse.tables.problem import Problem
from manifuse.tables.problem_files import read_labels
from tests.problems import with_evidence

NAMES = ("ash", "beech", "oak", "yew")

#: Rows that the main classifier has learned from.
LEARNED = 16


def draw(seed=0, *, rows=240, names=NAMES, labels=0, references=2, sharpness=1.0):
    """Rows around four centres; each party sees four features of its own, and has learned from few rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(names), size=2 * rows)
    points = rng.standard_normal((len(names), 4))[truth] * 1.5 + rng.standard_normal((2 * rows, 4))
    ids = np.arange(2 * rows)

    def party(name, there, learned, spread):
        features = points + spread * rng.standard_normal(points.shape)
        model = LogisticRegression(max_iter=1000).fit(features[learned], truth[learned])
        came = softmax(sharpness * np.log(model.predict_proba(features[there])), axis=1)
        return mf.Observations(
            came, features[there], ids=ids[there], classes=np.array(names)[model.classes_], name=name
        )

    theirs = np.concatenate([ids[rows:], ids[:80]])
    main = party("ours", ids[:rows], ids[:LEARNED], 0.7)
    others = tuple(party(f"theirs {k}", theirs, ids[rows:], 0.5) for k in range(references))
    known = rng.permutation(np.arange(LEARNED, rows))[:labels]
    given = mf.ClassLabels(ids[known], np.array(names)[truth[known]]) if labels else None
    test = np.setdiff1d(np.arange(LEARNED, rows), known)
    return main, others, given, np.array(names)[truth[:rows]], test


def right(main, probabilities, truth, rows):
    return float(np.mean(main.classes.most_probable(np.asarray(probabilities))[rows] == truth[rows]))


def log_loss(main, probabilities, truth, rows):
    places = main.classes.places_of(truth[rows])
    return -float(np.mean(np.log(np.asarray(probabilities)[rows, places])))


def frame_of(table):
    """The same table as a data frame, with ids that are text."""
    frame = pl.DataFrame(table.came, schema=[f"p_{each}" for each in table.classes.names])
    frame = frame.insert_column(0, pl.Series("id", [f"r{key}" for key in table.keys]))
    return frame.with_columns(pl.Series(f"x{k}", column) for k, column in enumerate(table.table.T))


def renamed(table, order):
    """The same table with its columns of classes in another order."""
    names = np.array(table.classes.names)[order]
    return mf.Observations(table.came[:, order], table.table, ids=table.keys, classes=names, name=table.name)


def test_the_log_ratio_of_two_classes_is_their_log_odds(rng):
    probabilities = rng.dirichlet([1.0, 1.0], 50)
    odds = Classes(("a", "b")).log_ratios(np.log(probabilities))
    np.testing.assert_allclose(odds[:, 0], np.log(probabilities[:, 1] / probabilities[:, 0]), rtol=1e-12)


def test_log_ratios_keep_all_and_have_the_distances_of_centred_logarithms(rng):
    classes, probabilities = Classes(NAMES), rng.dirichlet(np.full(4, 9.0), 30)
    log_ratios = classes.log_ratios(np.log(probabilities))
    np.testing.assert_allclose(np.exp(classes.logarithms(log_ratios)), probabilities, rtol=1e-12)
    centred = np.log(probabilities) - np.log(probabilities).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(log_ratios @ log_ratios.T, 2.0 * centred @ centred.T, atol=1e-12)
    np.testing.assert_allclose(classes.probabilities(classes.coordinates(probabilities)), probabilities, rtol=1e-12)


def test_log_ratios_of_decision_values_become_their_softmax(rng):
    values, classes = rng.standard_normal((7, 4)), Classes(("a", "b", "c", "d"))
    np.testing.assert_allclose(np.exp(classes.logarithms(classes.log_ratios(values))), softmax(values, axis=1))


def test_log_ratios_do_not_depend_on_the_order_of_classes(rng):
    ours, theirs = Classes(NAMES), Classes(NAMES[::-1])
    logarithms = np.log(rng.dirichlet(np.ones(4), 20))
    turned = theirs.log_ratios(logarithms[:, ::-1])
    np.testing.assert_allclose(turned, ours.log_ratios(logarithms), atol=1e-12)
    np.testing.assert_allclose(ours.from_others(theirs), np.eye(3), atol=1e-12)


def test_classes_in_common_keep_their_log_ratios(rng):
    ours, theirs = Classes(NAMES), Classes(("oak", "ash", "elm"))
    logarithms = np.log(rng.dirichlet(np.ones(3), 20))
    turned = ours.logarithms(theirs.log_ratios(logarithms) @ ours.from_others(theirs))
    np.testing.assert_allclose(turned[:, 2] - turned[:, 0], logarithms[:, 0] - logarithms[:, 1], atol=1e-12)
    # Nothing is said of classes that they do not know.
    np.testing.assert_allclose(turned[:, 1], turned[:, 3], atol=1e-12)
    assert not ours.from_others(Classes(("oak", "elm"))).any()


def test_a_rotation_that_was_applied_is_found_again(rng):
    ours = rng.standard_normal((60, 3))
    applied = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    found = rotation(ours @ applied.T, ours, np.zeros((3, 3)))
    np.testing.assert_allclose(found, applied, atol=1e-10)


@pytest.mark.parametrize("labels", [0, 60])
def test_references_of_the_same_classes_make_a_classifier_better(labels):
    gains, losses = [], []
    for seed in range(4):
        main, others, known, truth, test = draw(seed, labels=labels)
        result = mf.refine(main, others, known, rng=0)
        predictions = result.predictions
        assert result.accepted
        np.testing.assert_allclose(predictions.sum(axis=1), 1.0)
        assert predictions.min() > 0
        gains.append(right(main, predictions, truth, test) - right(main, main.came, truth, test))
        losses.append(log_loss(main, predictions, truth, test) - log_loss(main, main.came, truth, test))
        assert list(result.predicted) == list(main.classes.most_probable(predictions))
    assert np.mean(gains) > 0.05
    assert np.mean(losses) < -0.1


def test_references_correct_a_classifier_that_only_names_a_class():
    gains = []
    for seed in range(4):
        main, others, _, truth, test = draw(seed)
        hard = np.eye(len(NAMES))[main.came.argmax(axis=1)]
        named = mf.Observations(hard, main.table, ids=main.keys, classes=main.classes.names, name=main.name)
        found = mf.refine(named, others, rng=0).predictions
        gains.append(right(main, found, truth, test) - right(main, hard, truth, test))
    assert np.mean(gains) > 0.03


@pytest.mark.parametrize("labels", [0, 60])
def test_the_order_of_classes_does_not_matter(labels):
    main, others, known, _, _ = draw(1, labels=labels)
    result = mf.refine(main, others, known, rng=0)
    order = [2, 0, 3, 1]
    turned = mf.refine(renamed(main, order), [renamed(others[0], order[::-1]), others[1]], known, rng=0)
    np.testing.assert_allclose(turned.predictions, result.predictions[:, order], atol=1e-6)
    assert list(turned.predicted) == list(result.predicted)


@pytest.mark.parametrize("labels", [0, 60])
def test_the_names_of_classes_do_not_matter(labels):
    results = []
    for names in (NAMES, tuple(NAMES[place] for place in (2, 0, 3, 1))):
        main, others, known, _, _ = draw(1, names=names, labels=labels)
        results.append(mf.refine(main, others, known, rng=0).predictions)
    np.testing.assert_allclose(results[1], results[0], atol=1e-6)


def test_two_classes_are_refined_as_their_log_odds_are():
    main, others, _, _, _ = draw(2, names=("no", "yes"))
    as_classes = [
        mf.Observations(np.log(t.came), t.table, ids=t.keys, classes=("no", "yes"), scale="logits", name=t.name)
        for t in (main, *others)
    ]
    as_scores = [mf.Observations(t.scores[:, 0], t.table, ids=t.keys, name=t.name) for t in as_classes]
    one, other = (mf.refine(tables[0], tables[1:], rng=0) for tables in (as_classes, as_scores))
    np.testing.assert_array_equal(one.scores[:, 0], other.scores)
    np.testing.assert_array_equal(one.support, other.support)


def test_labels_calibrate_probabilities_that_are_too_sure():
    reliable = []
    for seed in range(4):
        main, others, known, truth, test = draw(seed, labels=100, sharpness=4.0)
        result = mf.refine(main, others, known, rng=0)
        sure = np.asarray(result.predictions)[test].max(axis=1).mean() - right(main, result.predictions, truth, test)
        before = main.came[test].max(axis=1).mean() - right(main, main.came, truth, test)
        assert before > 0.1
        reliable.append(sure)
    assert abs(np.mean(reliable)) < 0.03


def test_what_labels_report_comes_true_on_rows_without_labels():
    reported, true = [], []
    for seed in range(6):
        main, others, known, truth, test = draw(seed, labels=80)
        result = mf.refine(main, others, known, rng=0)
        before, after = (
            log_loss(main, each, truth, test) for each in (main.in_scale(main.scores + 0.0), result.predictions)
        )
        reported.append((result.gain.value, result.gain.standard_error))
        true.append(before - after)
    values, errors = np.array(reported).T
    assert abs(np.mean(values - true)) < 2 * np.mean(errors) / np.sqrt(len(true)) + 0.02
    assert result.gain.measure == result.log_loss.measure == "log_loss"
    assert result.accuracy.measure == "class_accuracy"
    assert result.accuracy.after == pytest.approx(result.accuracy.before + result.evidence.measured.right[1].value)


@pytest.mark.filterwarnings("ignore:theirs does not have all classes")
def test_coarser_classes_and_scores_help_and_unrelated_classes_do_no_harm():
    losses = []
    for seed in range(4):
        main, (other,), known, truth, test = draw(seed, labels=60, references=1)
        fine, noise = other.came, np.random.default_rng(seed).dirichlet(np.ones(3), len(other))
        coarse = np.column_stack([fine[:, :2].sum(axis=1), fine[:, 2:]])
        given = {"features": other.table, "ids": other.keys, "name": "theirs"}
        tables = [
            [],
            [mf.Observations(coarse, classes=("ash or beech", *NAMES[2:]), **given)],
            [mf.Observations(fine[:, 0] - fine[:, 1], **given)],
            [mf.Observations(noise, classes=("x", "y", "z"), **given)],
        ]
        results = [mf.refine(main, each, known, rng=0) for each in tables]
        losses.append([log_loss(main, result.predictions, truth, test) for result in results])
    alone, coarser, scores, unrelated = np.mean(losses, axis=0)
    assert coarser < alone
    assert scores < alone
    assert unrelated < alone + 0.02


def test_what_is_turned_at_a_pair_does_not_know_the_pair():
    main, (other,), _, _, _ = draw(3, references=1)
    found = []
    for seed in range(10):
        noise = np.random.default_rng(seed).dirichlet(np.ones(3), len(other))
        table = mf.Observations(noise, other.table, ids=other.keys, classes=("x", "y", "z"), name="noise")
        found.append(mf.refine(main, [table], rng=0).relevance["noise"].held_out_alignment)
    # Turned by all pairs at once, noise would agree with everything.
    assert abs(np.mean(found)) < 0.1


@pytest.mark.parametrize("labels", [0, 60])
@pytest.mark.parametrize("has", ["scores beside classes", "other classes", "classes beside scores"])
def test_a_constant_in_the_scores_of_a_turned_reference_changes_nothing(has, labels):
    main, (other,), known, truth, _ = draw(5, references=1, labels=labels)
    given = {"features": other.table, "ids": other.keys, "name": "theirs"}
    if has == "classes beside scores":
        # Any order of the classes is one of the truth.
        grades = np.searchsorted(NAMES, truth).astype(float)
        main = mf.Observations(main.came @ np.arange(4.0), main.table, ids=main.keys, name="ours")
        known = mf.RankLabels(known.keys, grades[np.isin(main.keys, known.keys)]) if labels else None
    logits = np.log(other.came)
    refined = []
    for constant in (0.0, 100.0):
        if has == "scores beside classes":
            table = mf.Observations(logits[:, 0] + constant, **given)
        else:
            table = mf.Observations(
                logits + np.array([constant, 0, 0, 0]), classes=tuple("wxyz"), scale="logits", **given
            )
        result = mf.refine(main, [table], known, rng=0)
        assert result.weights[0] > 0
        refined.append(result.scores)
    np.testing.assert_allclose(refined[1], refined[0], atol=1e-5)


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_a_copy_under_other_names_of_classes_repeats_the_main_predictor():
    main, others, _, _, _ = draw(5)
    given = {"features": main.table, "ids": main.keys}
    renamed_copy = mf.Observations(main.came, classes=tuple("wxyz"), name="copy", **given)
    turned_copy = mf.Observations(main.came[:, ::-1], classes=NAMES[::-1], name="copy", **given)
    plain = mf.refine(main, others, rng=0)
    odds = mf.Observations(main.scores[:, 0], main.table, ids=main.keys, name="ours")
    certain = 1.0 / (1.0 + np.exp(-odds.scores))
    of_two = mf.Observations(np.column_stack([1.0 - certain, certain]), classes=("no", "yes"), name="copy", **given)
    for scores, scale in ((odds.scores, "score"), (certain, "probability"), (certain, "score")):
        table = mf.Observations(scores, main.table, ids=main.keys, scale=scale, name="ours")
        with pytest.warns(mf.ManifuseWarning, match="copy repeats the scores of ours"):
            mf.refine(table, [of_two], mf.RankLabels(main.keys[:20], np.arange(20)), rng=0)
    for copy in (renamed_copy, turned_copy):
        with pytest.warns(mf.ManifuseWarning, match="copy repeats the scores of ours"):
            result = mf.refine(main, [*others, copy], rng=0)
        assert result.weights[-1] == 0
        np.testing.assert_allclose(result.scores, plain.scores, atol=1e-8)


@pytest.mark.parametrize(
    "again",
    [
        lambda came: came**1.5 / (came**1.5).sum(axis=1, keepdims=True),
        lambda came: np.sqrt(came) / np.sqrt(came).sum(axis=1, keepdims=True),
        lambda came: (came.round(2) + 1e-9) / (came.round(2) + 1e-9).sum(axis=1, keepdims=True),
    ],
    ids=["surer", "less sure", "rounded"],
)
def test_own_probabilities_that_were_calibrated_again_repeat_the_main_predictor(again):
    main, others, _, _, _ = draw(5)
    copy = mf.Observations(again(main.came), ids=main.keys, classes=NAMES, name="copy")
    plain = mf.refine(main, others, rng=0)
    with pytest.warns(mf.ManifuseWarning, match="copy repeats the scores of ours"):
        result = mf.refine(main, [*others, copy], rng=0)
    np.testing.assert_allclose(result.scores, plain.scores, atol=1e-8)


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("places", [(0, 1, 2, 3), (1, 0, 2, 3), (3, 2, 1, 0), (1, 2, 3, 0)])
def test_a_reference_whose_classes_are_exchanged_is_named(places):
    main, others, _, _, _ = draw(5)
    called = [NAMES[place] for place in places]
    theirs = mf.Observations(others[0].came, others[0].table, ids=others[0].keys, classes=called, name="theirs")
    with warnings.catch_warnings(record=True) as caught:
        mf.refine(main, [theirs], rng=0)
    said = [str(each.message) for each in caught if each.message.code == "exchanged_classes"]
    moved = [f"{NAMES[place]} as {NAMES[own]}" for own, place in enumerate(places) if own != place]
    assert len(said) == bool(moved)
    assert all(each in said[0] for each in moved)


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("places", [(0, 1, 2), (1, 0, 2), (2, 0, 1)])
def test_exchanged_classes_are_named_though_the_reference_lacks_one(places):
    main, others, _, _, _ = draw(5)
    kept = others[0].came[:, :3] / others[0].came[:, :3].sum(axis=1, keepdims=True)
    called = [NAMES[place] for place in places]
    theirs = mf.Observations(kept, others[0].table, ids=others[0].keys, classes=called, name="theirs")
    with warnings.catch_warnings(record=True) as caught:
        mf.refine(main, [theirs], rng=0)
    codes = [each.message.code for each in caught]
    assert codes.count("exchanged_classes") == (places != (0, 1, 2))
    assert "lacking_classes" in codes


def test_a_score_is_refined_by_classes(tmp_path):
    main, others, _, _, _ = draw(4)
    features = {f"x{place}": column for place, column in enumerate(main.table.T)}
    ours = pl.DataFrame({"id": [f"r{key}" for key in main.keys], "score": main.scores[:, 0] + 0.0, **features})
    theirs = [frame_of(each) for each in others]
    table = mf.Observations.from_frame(ours, name="main")
    tables = [
        mf.Observations.from_frame(each, classes="p_(.*)", name=f"reference {1 + k}") for k, each in enumerate(theirs)
    ]
    result = mf.refine(table, tables, rng=0)
    assert result.accepted
    assert result.scores.shape == (240,)
    framed = mf.refine(ours, theirs, rng=0, classes="p_(.*)")
    np.testing.assert_array_equal(framed.scores, result.scores)
    later = ours[:1].with_columns(id=pl.lit("new"))
    why = mf.explain(framed, "new", theirs, later=later, classes="p_(.*)")
    assert any("reference 1" in sentence for sentence in why.sentences)
    ours.write_csv(tmp_path / "main.csv")
    for number, each in enumerate(theirs):
        each.write_csv(tmp_path / f"{number}.csv")
    given = tmp_path / "main.csv", [tmp_path / "0.csv", tmp_path / "1.csv"]
    read = mf.refine_files(*given, rng=0, classes="p_(.*)", out=tmp_path / "out.csv")
    np.testing.assert_allclose(read.scores, result.scores, atol=1e-12)
    later.write_csv(tmp_path / "later.csv")
    mf.apply_files(read, tmp_path / "later.csv", tmp_path / "applied.csv")
    np.testing.assert_allclose(
        pl.read_csv(tmp_path / "applied.csv")["score"], framed.apply(later)["score"], atol=1e-12
    )
    said = "0 columns of main match it"
    with pytest.raises(mf.InputError, match=said):
        mf.refine(ours, [ours[:200]], rng=0, classes="q_(.*)")
    with pytest.raises(mf.InputError, match=r"0 columns of .* match it"):
        mf.refine_files(*given, rng=0, classes="q_(.*)", out=tmp_path / "out.csv")


def test_later_rows_saved_files_and_batches(tmp_path):
    main, others, known, _, _ = draw(5, labels=60)
    early, late = np.arange(200), np.arange(200, 240)

    def part(rows):
        return mf.Observations(main.came[rows], main.table[rows], ids=main.keys[rows], classes=NAMES, name="ours")

    held = np.isin(known.keys, main.keys[early])
    known = mf.ClassLabels(known.keys[held], known.names[held])
    whole = mf.refine(main, others, known, rng=0)
    result = mf.refine(part(early), others, known, rng=0)
    applied = result.apply(part(late))
    np.testing.assert_allclose(applied.sum(axis=1), 1.0)
    assert np.abs(applied - whole.predictions[late]).mean() < 0.05
    np.testing.assert_array_equal(np.vstack([result.apply(part(late[:7])), result.apply(part(late[7:]))]), applied)
    mf.save(result, tmp_path / "saved.npz")
    again = mf.load(tmp_path / "saved.npz")
    np.testing.assert_array_equal(again.apply(part(late)), applied)
    np.testing.assert_array_equal(again.predictions, result.predictions)
    assert again.summary() == result.summary()
    # Columns of classes are found by their names.
    turned = result.apply(renamed(part(late), [3, 1, 0, 2]))
    np.testing.assert_allclose(turned, applied[:, [3, 1, 0, 2]], atol=1e-12)
    with pytest.raises(mf.InputError, match="was fitted with classes ash, beech, oak, yew; give the same"):
        result.apply(mf.Observations(main.came[late, 0], main.table[late], ids=main.keys[late], name="late"))


def test_later_classes_that_differ_are_named_before_their_probabilities_are_added(tmp_path):
    main, others, _, _, _ = draw(6)
    result = mf.refine(main, others, rng=0)
    columns = {f"p_{name}": column for name, column in zip(NAMES[:3], main.came.T, strict=False)}
    features = {f"x{k}": column for k, column in enumerate(main.table.T)}
    pl.DataFrame({"id": main.keys, **columns, **features}).write_csv(tmp_path / "later.csv")
    with pytest.raises(mf.InputError, match=r"later has classes ash, beech, oak, but ours was fitted with .*, yew;"):
        mf.apply_files(result, tmp_path / "later.csv", tmp_path / "out.csv", classes="p_(.*)")


def test_names_of_classes_that_look_the_same_are_shown_by_their_characters():
    composed, other = "\u00f6k", "o\u0308k"
    table = mf.Observations(np.full((3, 2), 0.5), ids=range(3), classes=("ash", composed), name="ours")
    demand_same_classes("later", (composed, "ash"), table)
    with pytest.raises(mf.InputError) as caught:
        demand_same_classes("later", ("ash", other), table)
    assert str(caught.value).startswith(r"later has classes 'ash', 'o\u0308k', but ours was fitted with")
    assert r"'\xf6k'" in str(caught.value)


def test_frames_come_back_with_a_column_for_each_class():
    main, others, _, _, _ = draw(6)
    frame = pl.DataFrame(main.came, schema=[f"p_{name}" for name in NAMES]).with_columns(id=pl.Series(main.keys))
    frame = frame.with_columns(pl.Series(f"x{k}", column) for k, column in enumerate(main.table.T))
    columns = {f"p_{name}": name for name in NAMES}
    table = mf.Observations.from_frame(frame, classes=columns, name="ours")
    assert table.classes.names == NAMES
    assert table.table.shape[1] == 4
    result = mf.refine(table, others, rng=0)
    assert isinstance(result.predictions, pl.DataFrame)
    assert result.predictions.columns == list(columns)
    # The result knows what the columns of the table were called.
    applied = result.apply(frame)
    assert applied.columns == result.to_frame().columns == ["id", "predicted", "original", *columns, "support"]
    np.testing.assert_allclose(applied.select(list(columns)).to_numpy(), result.predictions.to_numpy())
    with pytest.raises(mf.InputError, match="the frame has no column 'ash'"):
        result.apply(frame, classes=NAMES)


def test_what_is_left_of_a_lesson_is_left_at_pairs_alone():
    main, others, labels, _, _ = draw(1, labels=120)
    learned = mf.refine(main, others, labels, rng=0).fitted_model.columns.learned
    columns = {"known itself": np.array([1.0, 0.0]), learned.beyond: np.zeros((2, 3))}
    rows = View(np.empty((2, 0)), columns, np.empty((2, 0)))
    faded = replace(learned, at_pairs=0.25, reach=np.inf).fade(rows, np.ones((2, 3)))
    np.testing.assert_allclose(faded, [[0.25] * 3, [1.0] * 3])


def test_what_is_learned_of_rows_that_taught_is_what_is_learned_of_later_rows():
    main, others, labels, _, _ = draw(1, labels=60)
    problem = Problem.of(main, others)
    given = prepare(problem, mf.JointDiffusion(), score_of(labels, main, regression=False), 0, mf.Host())
    found = refine_columns(given)
    column, _, learned = found.taught
    there = found.views.fitted.take(found.labels.score.rows)
    seen, fold = learned.seen_as(there, there[column.source]), np.arange(10)
    values, variances = seen.without([fold], [fold])
    expected, _ = learned.without_fold(fold).predict(there.take(fold), there[column.source][fold])
    np.testing.assert_allclose(values[fold], expected, atol=1e-6)
    assert (variances[fold] > 0).all()


def temperature(log_ratios, score):
    return 0.0, temperature_of(log_ratios, score)


def test_no_label_tempers_its_own_row(rng):
    classes = Classes(("a", "b", "c"))
    log_ratios, truth = rng.standard_normal((3, 20, 2)), rng.integers(0, 3, 20)
    folds = [np.arange(first, 20, 4) for first in range(4)]
    changed = np.where(np.arange(20) == 5, (truth + 1) % 3, truth)
    before, after = (
        calibrated_without(log_ratios, LogLoss(np.arange(20), each, classes), folds, temperature)
        for each in (truth, changed)
    )
    np.testing.assert_array_equal(after[:, folds[1]], before[:, folds[1]])
    assert (after[:, folds[0]] != before[:, folds[0]]).all()
    one_class = LogLoss(np.arange(20), np.where(np.arange(20) < 19, 0, 1), classes)
    unsaid = calibrated_without(log_ratios, one_class, [np.array([19])], temperature)
    np.testing.assert_array_equal(unsaid[:, 19], log_ratios[:, 19])


def test_the_temperature_is_the_most_probable_one(rng):
    classes, log_ratios = Classes(NAMES), rng.standard_normal((4000, 3)) * 2.0
    drawn = np.array([rng.choice(4, p=row) for row in np.exp(classes.logarithms(log_ratios))])
    score = LogLoss(np.arange(4000), drawn, classes)
    assert temperature_of(3.0 * log_ratios, score) == pytest.approx(1 / 3, rel=0.1)


def test_labels_of_other_kinds_and_classes_are_refused_or_said():
    main, others, known, _, _ = draw(7, labels=60)
    with pytest.raises(
        mf.InputError, match="RankLabels came for ours, which has classes; give the labels as `ClassLabels`"
    ):
        mf.refine(main, others, mf.RankLabels(known.keys, np.arange(60.0)))
    scores = mf.Observations(main.scores[:, 0] + 0.0, main.table, ids=main.keys, name="ours")
    with pytest.raises(mf.InputError, match="Classes came as labels, but ours has one score a row"):
        mf.refine(scores, [], known)
    with pytest.raises(mf.InputError, match="all of one class"):
        mf.ClassLabels(["a", "b"], ["x", "x"])
    with pytest.raises(mf.InputError, match="of classes that ours does not have"):
        mf.refine(main, others, mf.ClassLabels(known.keys, ["elm", "fir"] * 30))
    for count, said in ((5, r"5 labels are of classes"), (1, r"1 label is of a class")):
        names = np.where(np.arange(60) < count, "elm", known.names)
        they = "it is" if count == 1 else "they are"
        with pytest.warns(mf.ManifuseWarning, match=rf"{said} that ours does not have \(elm\); {they} left out"):
            result = mf.refine(main, others, mf.ClassLabels(known.keys, names), rng=0)
        assert result.gain.rows == 60 - count


@pytest.mark.parametrize("other", [str.upper, " {} ".format, str.title])
def test_labels_that_name_a_class_in_another_way_are_refused(other):
    main, others, known, *_ = draw(2, labels=60)
    meant = known.names[0]
    names = np.where(known.names == meant, other(meant), known.names)
    with pytest.raises(mf.InputError, match=rf"ours does not have \({other(meant)}\), but it has '{meant}'"):
        mf.refine(main, others, mf.ClassLabels(known.keys, names))


def test_true_and_false_are_the_classes_1_and_0():
    main, others, known, *_ = draw(2, labels=60, names=("0", "1"))
    truth = known.names == "1"
    expected = mf.refine(main, others, known, rng=0).scores
    for given in (truth, truth.astype(float), truth.astype(int)):
        np.testing.assert_array_equal(
            mf.refine(main, others, mf.ClassLabels(known.keys, given), rng=0).scores, expected
        )


def test_probabilities_of_two_digits_need_not_sum_to_1():
    names = [f"class {k}" for k in range(10)]
    exact = np.random.default_rng(0).dirichlet(np.ones(10), 300)
    sums = np.round(exact, 2).sum(axis=1)
    assert np.abs(sums - 1.0).max() > 0.01
    table = mf.Observations(np.round(exact, 2), ids=range(300), classes=names)
    divided = mf.Observations(np.round(exact, 2) / sums[:, None], ids=range(300), classes=names)
    np.testing.assert_allclose(table.scores, divided.scores)
    # Rows that come back unchanged sum to 1, too.
    np.testing.assert_allclose(table.in_scale(table.scores).sum(axis=1), 1.0, rtol=1e-12)
    for wrong in (np.round(exact, 2) + 0.01, exact * 0.98):
        with pytest.raises(mf.InputError, match="do not sum to 1"):
            mf.Observations(wrong, ids=range(300), classes=names)


def test_matrices_that_are_no_probabilities_are_refused():
    main, _, _, _, _ = draw(8)
    given = {"ids": main.keys, "name": "ours"}
    with pytest.raises(mf.InputError, match="give `classes`, a name for each column"):
        mf.Observations(main.came, **given)
    with pytest.raises(mf.InputError, match="do not sum to 1 in rows 0, 1, 2, 3, 4 and 235 more"):
        mf.Observations(main.came * 0.9, classes=NAMES, **given)
    age = np.random.default_rng(0).integers(20, 90, len(main)).astype(float)
    for wrong, says in (
        (np.column_stack([main.came, age]), "numbers of the class 'age' outside of .*; leave out what is no class"),
        (100.0 * main.came, "are percentages, divide by 100"),
        (main.came - 0.5, 'if they are decision values, refine with scale="logits"'),
    ):
        names = [*NAMES, "age"][: wrong.shape[1]]
        with pytest.raises(mf.InputError, match=says):
            mf.Observations(wrong, classes=names, **given)
    with pytest.raises(mf.InputError, match="4 columns of predictions but 3 classes"):
        mf.Observations(main.came, classes=NAMES[:3], **given)
    with pytest.raises(mf.InputError, match="has the class 'ash' twice"):
        mf.Observations(main.came, classes=("ash", "ash", "oak", "yew"), **given)
    with pytest.raises(mf.InputError, match="'probability' or 'logits' was expected"):
        mf.Observations(main.came, classes=NAMES, scale="score", **given)


def write_files(folder, *, labels=60):
    main, others, known, _, _ = draw(9, labels=labels)
    for table, name in ((main, "main"), (others[0], "theirs")):
        frame_of(table).write_csv(folder / f"{name}.csv")
    pl.DataFrame({"id": [f"r{key}" for key in known.keys], "label": known.names}).write_csv(folder / "labels.csv")
    return main, others, known


def test_the_command_reads_and_writes_classes(tmp_path, monkeypatch, capsys):
    main, others, known = write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    given = ["--reference", "theirs.csv", "--labels", "labels.csv", "--classes", "p_(.*)"]
    monkeypatch.setattr(
        "sys.argv", ["manifuse", "refine", "main.csv", *given, "--out", "out.csv", "--save", "m.npz", "--json"]
    )
    with pytest.raises(SystemExit) as ended:
        command()
    assert not ended.value.code
    facts = json.loads(capsys.readouterr().out)
    assert facts["accuracy"]["measure"] == "class_accuracy"
    assert facts["log_loss"]["after"] < facts["log_loss"]["before"]
    written = pl.read_csv(tmp_path / "out.csv")
    assert written.columns == ["id", "predicted", "original", *(f"p_{name}" for name in NAMES), "support"]

    def again(table):
        return mf.Observations(
            table.came,
            table.table,
            ids=[f"r{key}" for key in table.keys],
            classes=table.classes.names,
            name=table.name,
        )

    labels = mf.ClassLabels([f"r{key}" for key in known.keys], known.names)
    result = mf.refine(again(main), [again(others[0])], labels, rng=0)
    np.testing.assert_allclose(written.select(pl.col("^p_.*$")).to_numpy(), result.predictions, atol=1e-12)
    assert written["predicted"].to_list() == list(result.predicted)
    model = mf.load(tmp_path / "m.npz")
    assert mf.apply_files(model, tmp_path / "main.csv", tmp_path / "later.npz", classes="p_(.*)") == 240
    with np.load(tmp_path / "later.npz") as later:
        assert later["classes"].tolist() == list(NAMES)
        np.testing.assert_allclose(later["score"], result.predictions, atol=1e-12)
        assert later["predicted"].tolist() == list(result.predicted)
    refined = mf.refine_files(
        tmp_path / "main.csv",
        tmp_path / "theirs.csv",
        tmp_path / "labels.csv",
        rng=0,
        classes="p_(.*)",
        out=tmp_path / "o.parquet",
    )
    np.testing.assert_array_equal(refined.scores, model.scores)
    assert pl.read_parquet(tmp_path / "o.parquet").columns == written.columns


def test_explore_exports_a_config_that_repeats_what_it_shows(tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    page = explore_files(
        {"main": "main.csv", "reference": ["theirs.csv"], "labels": Path("labels.csv"), "classes": "p_(.*)"}
    )
    try:
        shown, method = page._exploration, page._exploration.method
        expected = mf.refine(shown.main, shown.references, shown.labels, method, rng=shown.seed)
        Path("run.toml").write_bytes(page._export(method).content)
    finally:
        page.close()
    monkeypatch.setattr("sys.argv", ["manifuse", "refine", "--config", "run.toml"])
    with pytest.raises(SystemExit) as ended:
        command()
    assert not ended.value.code
    written = pl.read_csv("refined.csv").select(pl.col("^p_.*$")).to_numpy()
    np.testing.assert_array_equal(written, expected.predictions)


def test_an_archive_holds_a_matrix_and_the_names_of_its_columns(tmp_path):
    main, others, _, _, _ = draw(9)
    for table, name in ((main, "main"), (others[0], "theirs")):
        np.savez(
            tmp_path / f"{name}.npz", ids=table.keys, scores=table.came, features=table.table, classes=np.array(NAMES)
        )
    result = mf.refine_files(tmp_path / "main.npz", [tmp_path / "theirs.npz"], rng=0, out=tmp_path / "out.npz")
    np.testing.assert_array_equal(result.predictions, mf.refine(main, others[:1], rng=0).predictions)
    with np.load(tmp_path / "out.npz") as out:
        assert set(out.files) == {"id", "predicted", "original", "support", "score", "classes"}


def test_what_classes_do_not_have_is_refused_in_a_sentence():
    main, others, known, _, _ = draw(1, labels=60)
    constant = mf.Observations(np.tile(main.came[0], (240, 1)), main.table, ids=main.keys, classes=NAMES, name="ours")
    with pytest.raises(
        mf.InputError,
        match="The probabilities of ours do not differ from row to row, so there is no class to refine; give prob",
    ):
        mf.refine(constant, others)
    same = mf.Observations(np.tile(main.came[0], (240, 1)), ids=main.keys, classes=NAMES, name="same")
    with pytest.warns(mf.ManifuseWarning, match="The probabilities of same do not differ from row to row; it gets"):
        result = mf.refine(main, [others[0], same], known, rng=0)
    with pytest.raises(mf.InputError, match="ours has classes, which put rows in no order; `predictions` has the"):
        result.probability(main.keys[:1], main.keys[1:2])
    for labels in (None, known):
        with pytest.raises(mf.InputError, match="A regression came for ours, which has classes and no values; leave"):
            mf.refine(main, others, labels, mf.JointDiffusion(task="regression"))


def test_digit_halves_are_better_together():
    halves = mf.datasets.load_digit_halves(labels=100)
    (reference,) = halves.references
    assert reference.table is None
    assert np.isin(reference.keys, halves.main.keys).all()
    assert not np.isin(reference.keys, halves.main.keys[halves.test]).any()
    result = mf.refine(halves.main, halves.references, halves.labels, rng=0)
    assert halves.accuracy(result.predictions) > halves.accuracy(halves.main.came) + 0.08
    with pytest.raises(mf.InputError, match="a whole number from 0 to 400"):
        mf.datasets.load_digit_halves(labels=401)
    with pytest.raises(mf.InputError, match=r"\(2, 10\)"):
        halves.accuracy(np.ones((2, 10)))


def test_the_report_of_classes_shows_classes_and_no_ranks(tmp_path):
    main, others, known, _, _ = draw(1, labels=60)
    result = mf.refine(main, others, known, rng=0)
    mf.write_report(result, tmp_path / "page.html", references=others)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for said in ("Classes before and after", "Rows that changed class", "log loss on the labels, after"):
        assert said in page
    for said in ("Rank 1 is", "rank correlation", "Rows that rose most"):
        assert said not in page
    assert mf.plot(result, "support").axes
    with pytest.raises(mf.InputError, match="There is no picture 'shift'"):
        mf.plot(result, "shift")


def test_the_report_shows_how_good_classes_are_where_labels_measure_it():
    main, others, known, _, _ = draw(1, labels=60)
    result = mf.refine(main, others, known, rng=0)
    page, found = page_of(result), result.evidence.by_class
    for said in ("Which classes are right", "counts are their mean", "Before: how many labelled rows"):
        assert said in page
    assert f"<td>Brier score on the labels, after</td><td>{found.brier[1]:.4f}</td>" in page
    assert "The refinement was not taken." not in page
    assert {"confusion_before", "confusion_after", "reliability"} <= pictures_of(result, ClassShift.of(result)).keys()
    share = mf.plot(result, "confusion_after").axes[0].images[0].get_array()
    np.testing.assert_allclose(share, found.counts[1] / found.labels[:, None])
    unlabelled = mf.refine(main, others, rng=0)
    page = page_of(unlabelled)
    assert "Which classes are right" not in page
    assert "Brier" not in page
    assert mf.plot(unlabelled).axes[0].get_title() == mf.plot(unlabelled, "relevance").axes[0].get_title()
    with pytest.raises(mf.InputError, match="The picture 'reliability' needs labels"):
        mf.plot(unlabelled, "reliability")


def test_what_was_not_taken_is_said_where_classes_are_judged():
    main, others, known, _, _ = draw(1, labels=60)
    result = mf.refine(main, others, known, rng=0)
    result = with_evidence(result, verdict=Verdict.of(Reason.NO_GAIN))
    page = page_of(result)
    assert "The refinement was not taken. What stands here as “after” is what it would have been." in page
    before = result.evidence.by_class.brier[0]
    assert f"<td>Brier score on the labels, after</td><td>{before:.4f}</td>" in page
    # Taken at pairs alone, the numbers of all labelled rows stay, too.
    pairs = with_evidence(result, verdict=Verdict.of(Reason.PAIRS, 0.0))
    page = page_of(pairs)
    assert "The refinement was not taken, but at common rows. What stands here as “after”" in page
    assert f"<td>Brier score on the labels, after</td><td>{before:.4f}</td>" in page
    measured = result.evidence.measured
    for calibrated, said in ((True, "are only calibrated"), (False, "stay as they were")):
        judged = with_evidence(pairs, measured=replace(measured, calibrated=calibrated))
        assert f"the others {said}: on 60 labelled rows" in " ".join(judged.summary().split())


def test_other_backends_bridges_tensors_and_samples_take_classes():
    torch = pytest.importorskip("torch")
    main, others, known, _, _ = draw(1, labels=60)
    result = mf.refine(main, others, rng=0)
    assert result.course.share > 0
    on_torch = mf.refine(main, others, rng=0, backend=mf.Torch("cpu"))
    np.testing.assert_allclose(on_torch.predictions, result.predictions, atol=1e-6)
    tensors = torch.tensor(main.came, dtype=torch.float32), torch.tensor(main.table)
    given = mf.Observations(*tensors, ids=main.keys, classes=NAMES, name="ours")
    from_tensors = mf.refine(given, others, rng=0).predictions
    assert from_tensors.dtype == torch.float32
    np.testing.assert_allclose(from_tensors.numpy(), result.predictions, atol=1e-5)
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(bridge=mf.ExplicitEuler()), fitted_rows=150)
    sampled = mf.refine(main, others, known, method, rng=0)
    assert len(sampled.fitted_model.main) == 150
    np.testing.assert_allclose(sampled.predictions.sum(axis=1), 1.0)


def test_a_table_of_classes_that_comes_again_in_another_order_is_refused():
    main, others, _, _, _ = draw(1)

    def reversed_rows(table, name):
        rows = np.arange(len(table))[::-1]
        return mf.Observations(table.came[rows], table.table[rows], ids=table.keys[rows], classes=NAMES, name=name)

    with pytest.raises(mf.InputError, match="have the same scores of the same rows"):
        mf.refine(main, [others[0], reversed_rows(others[0], "again")])
    with pytest.raises(mf.InputError, match="is the main table itself"):
        mf.refine(main, [reversed_rows(main, "again")])


def test_smoothing_of_scores_refuses_classes():
    main, others, known, _, _ = draw(1, labels=60)
    with pytest.raises(mf.InputError, match="ours has probabilities of classes, but this rival takes one score a row"):
        mf.rivals.smooth_alone(main, others, known, rng=0)


def test_later_logits_are_no_probabilities():
    main, others, *_ = draw(1)
    result = mf.refine(main, others, rng=0)
    later = mf.Observations(
        np.log(main.came), main.table, ids=main.keys, classes=main.classes.names, scale="logits", name="ours"
    )
    with pytest.raises(mf.InputError, match="ours has scale='logits', but ours was fitted with"):
        result.apply(later)


def test_no_columns_of_classes_are_refused():
    with pytest.raises(mf.InputError, match="No columns of classes were named for table"):
        mf.Observations.from_frame(pl.DataFrame({"id": ["a"], "p": [1.0]}), classes=())


@pytest.mark.parametrize("missing", ["", "NA"])
@pytest.mark.parametrize("drop", [False, True])
def test_rows_whose_class_is_missing_are_rows_whose_truth_is_not_known(tmp_path, drop, missing):
    path = tmp_path / "known.csv"
    path.write_text(f"id,label,group\na,oak,1\nb,{missing},1\nc,yew,2\n")
    labels = read_labels(path, drop=drop, classes=("oak", "yew"))
    assert labels.names.tolist() == ["oak", "yew"]
    assert labels.groups.tolist() == ["1", "2"]


def test_a_class_may_be_called_as_r_writes_what_is_missing(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("id,label\na,SA\nb,NA\nc,SA\n")
    assert read_labels(path, classes=("NA", "SA")).names.tolist() == ["SA", "NA", "SA"]


def test_what_is_diffused_to_a_labelled_row_does_not_know_its_pair():
    main, others, known, _, _ = draw(1, labels=60)
    problem, score = Problem.of(main, others), score_of(known, main, regression=False)
    found = refine_columns(prepare(problem, mf.JointDiffusion(), score, 0, mf.Host())).views
    differs = (found.fitted["diffused"] != found.held_out["diffused"]).any(axis=1)
    assert differs[np.intersect1d(score.rows, problem.references[0].main_rows)].all()
    assert not np.delete(differs, score.rows).any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("classes", [3, 8, 9, 26])
def test_no_row_is_rounded_otherwise_for_the_rows_beside_it(rng, classes, order):
    came = np.asarray(rng.dirichlet(np.ones(classes), 60), order=order)
    names = [f"class {place}" for place in range(classes)]
    whole = mf.Observations(came, ids=range(60), classes=names)
    for size in (1, 2, 3, 7, 33):
        for first in range(0, 60 - size, size):
            part = mf.Observations(came[first : first + size], ids=range(size), classes=names)
            np.testing.assert_array_equal(part.scores, whole.scores[first : first + size])
            probabilities = whole.in_scale(whole.scores)[first : first + size]
            np.testing.assert_array_equal(part.in_scale(part.scores), probabilities)


def test_a_class_without_labels_keeps_its_probability():
    losses, found = [], []
    for seed in range(4):
        noise = np.random.default_rng(seed)
        features = noise.standard_normal((500, 4))
        scores = 1.2 * features @ noise.standard_normal((4, 4))
        truth = (scores + noise.gumbel(size=scores.shape)).argmax(axis=1)
        said = softmax(0.5 * scores + 0.8 * noise.standard_normal(scores.shape), axis=1)
        classes = np.array(["a", "b", "c", "d"])
        labelled = np.flatnonzero(truth > 0)[:100]
        ours = mf.Observations(said, features, ids=range(500), classes=classes, name="ours")
        result = mf.refine(ours, [], mf.ClassLabels(labelled, classes[truth[labelled]]), rng=0)
        rest = np.setdiff1d(np.arange(500), labelled)
        of_a = rest[truth[rest] == 0]
        each = [said, result.predictions]
        losses.append([-np.log(p[rest, truth[rest]]).mean() for p in each])
        found.append([(p[of_a].argmax(axis=1) == 0).mean() for p in each])
        assert "No label is of the class “a”" in result.summary()
    before, after = np.mean(losses, axis=0)
    assert after < before
    before, after = np.mean(found, axis=0)
    assert after > 0.9 * before


@pytest.mark.parametrize("name", ["", " ash"])
def test_names_of_classes_that_look_like_others_are_refused(name):
    with pytest.raises(
        mf.InputError, match=f"The classes of table holds '{name}', but ids and names must not be empty"
    ):
        mf.Observations([[0.5, 0.5]], ids=["a"], classes=["ash", name])


@pytest.mark.parametrize("last", ["3", "other", "1-b"])
def test_classes_that_one_side_wrote_as_floats_are_the_same_classes(last):
    whole, floats = ((*(f"{number}{end}" for number in (1, 2, 10)), last) for end in ("", ".0"))
    main, others, known, _, _ = draw(1, labels=60, names=whole)
    wrote = [mf.Observations(each.came, each.table, ids=each.keys, classes=floats, name=each.name) for each in others]
    averaged = [mf.rivals.impute_and_average(main, each, rng=0) for each in (others, wrote)]
    np.testing.assert_array_equal(*averaged)
    expected, found = (mf.refine(main, each, known, rng=0) for each in (others, wrote))
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    ours = mf.Observations(main.came, main.table, ids=main.keys, classes=floats, name=main.name)
    found = mf.refine(ours, others, known, rng=0)
    assert found.main.classes.names == floats
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    np.testing.assert_array_equal(found.apply(main.take(np.arange(5))), expected.predictions[:5])
    assert [each.name for each in found.relevance if each.standing.is_used] == [each.name for each in others]


def test_a_class_that_has_a_namesake_of_its_own_is_not_another():
    classes = Classes(("1", "1.0", "2"))
    assert classes.places_of(["1", "1.0", "2", "2.0", "1.00"]).tolist() == [0, 1, 2, 2, 0]
    assert Classes(("1", "x")).places_of(["1.0", "x.0"]).tolist() == [0, -1]
    both = names_as_given(Classes(("1", "1.0", "2")), as_numbers=True)
    assert both.tolist() == ["1", "1.0", "2"]
    assert names_as_given(Classes(("1.0", "2")), as_numbers=True).tolist() == [1, 2]
    assert Classes(("1.0", "x")).places_of(["1", "x", "True"]).tolist() == [0, 1, -1]


@pytest.mark.parametrize("kind", ["labels", "classes", "text"])
def test_classes_come_out_as_numbers_if_a_truth_names_them_so(kind, tmp_path):
    """A comparison of texts with numbers is false everywhere, and says nothing of it."""
    names = ("3", "1", "10", "2")
    main, others, known, truth, _ = draw(1, labels=60, names=names)
    numbers = truth.astype(int)
    if kind == "classes":
        main = mf.Observations(main.came, main.table, ids=main.keys, classes=[3, 1, 10, 2], name="ours")
    labels = mf.ClassLabels(known.keys, known.names.astype(int)) if kind == "labels" else None
    result = mf.refine(main, others, labels, rng=0)
    frame = result.to_frame()
    came = pd.DataFrame(main.came[:9], columns=main.classes.names).assign(id=[f"n{row}" for row in range(9)])
    came[[f"x{column}" for column in range(main.table.shape[1])]] = main.table[:9]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ManifuseWarning)
        later = result.apply(came, classes=list(main.classes.names))
    assert pd.api.types.is_integer_dtype(later["predicted"]) is (kind != "text")
    mf.save(result, tmp_path / "model.npz")
    again = mf.refine(mf.load(tmp_path / "model.npz").main, others, labels, rng=0)
    assert again.predicted.dtype.kind == result.predicted.dtype.kind
    right = np.mean(result.predicted == numbers)
    assert right == np.mean(frame["predicted"].to_numpy() == numbers)
    assert bool(right == 0) is (kind == "text")
    assert np.mean(result.predicted.astype(str) == truth) > 0.6
    assert set(frame["original"].to_list()) <= set(names if kind == "text" else [3, 1, 10, 2])


def test_a_class_that_no_row_has_any_more_is_named(rng):
    """Own probabilities name a third class in a few rows. A good reference never does."""
    truth, noise = rng.integers(0, 2, 200), 0.4 * rng.standard_normal((200, 2))
    own = np.column_stack([1.5 * (np.eye(2)[truth] + noise), np.where(np.arange(200) < 4, 1.9, -4.0)])
    theirs = np.column_stack([3.0 * np.eye(2)[truth], np.full(200, -1.0)])
    given = {"classes": ("a", "b", "rare"), "ids": np.arange(200)}
    main = mf.Observations(softmax(own, axis=1), truth[:, None] + rng.standard_normal((200, 2)), name="ours", **given)
    assert "rare" in set(main.classes.most_probable(main.came))
    result = mf.refine(main, [mf.Observations(softmax(theirs, axis=1), name="theirs", **given)], rng=0)
    assert "rare" not in set(result.predicted)
    assert result.evidence.vanished == tuple(result.to_dict()["vanished"]) == ("rare",)
    assert "“rare” is no longer the most probable class of any row." in " ".join(result.summary().split())
    same = mf.refine(main, [], mf.ClassLabels(np.arange(100), np.array(["a", "b"])[truth[:100]]), rng=0)
    assert same.evidence.vanished == tuple({*main.classes.most_probable(main.came)} - {*same.predicted})


@pytest.mark.parametrize("ours, theirs", [("bare.soil", "bare soil"), ("Bare_soil", "bare.soil"), ("v1.2", "v1 2")])
def test_labels_that_name_a_class_with_other_signs_for_blanks_are_told_so(ours, theirs):
    """R writes a point between letters for a blank, in names of columns; between digits it is meant."""
    names = (ours, *NAMES[1:])
    main, others, known, *_ = draw(3, references=1, labels=80, names=names)
    labels = mf.ClassLabels(known.keys, np.where(known.names == ours, theirs, known.names))
    if ours == "v1.2":
        with pytest.warns(mf.ManifuseWarning, match="they are left out"):
            mf.refine(main, others, labels, rng=0)
        return
    with pytest.raises(mf.InputError, match=f"but it has {ours!r}, and {theirs!r} came; write them alike"):
        mf.refine(main, others, labels, rng=0)
