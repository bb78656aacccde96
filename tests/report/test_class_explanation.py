"""Why a row changed class: what is said of it agrees with the tables and the neighbours."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from tests.test_classes import NAMES, draw, renamed

import manifuse as mf
from manifuse.report.class_shift import ClassShift
from manifuse.report.reference_opinion import ReferenceOpinion
from manifuse.report.refinement_page import page_of


@pytest.fixture(scope="module")
def runs():
    """Problems and their results, with labels and without."""
    cases = {labels: draw(1, labels=labels) for labels in (0, 60)}
    return {labels: (*case[:3], mf.refine(*case[:3], rng=0)) for labels, case in cases.items()}


def called(table, probabilities, row):
    best = probabilities[row].argmax()
    return f"{table.classes.names[best]} ({probabilities[row, best]:.0%})"


def counted(table, rows):
    """The classes of rows, the most frequent first, or the first of these."""
    names = table.classes.most_probable(table.came[rows]).tolist()
    if len({*names}) == 1:
        return f"{names[0]} (all {len(names)})"
    each = sorted(dict.fromkeys(names), key=names.count, reverse=True)
    *first, last = (f"{name} ({names.count(name)})" for name in each)
    return f"{', '.join(first)} and {last}"


@pytest.mark.parametrize("labels", [0, 60])
def test_it_says_which_class_the_row_had_and_has(runs, labels):
    main, others, known, result = runs[labels]
    before, after = main.came, np.asarray(result.predictions)
    changed = np.flatnonzero(before.argmax(axis=1) != after.argmax(axis=1))
    stayed = np.flatnonzero(before.argmax(axis=1) == after.argmax(axis=1))
    why = mf.explain(result, main.keys[changed[0]], others, labels=known)
    first, then = (called(main, each, changed[0]) for each in (before, after))
    assert why.sentences[0] == f"“{main.keys[changed[0]]}” changes from {first} to {then}."
    assert why.rows.body[0][3:5] == (first, then)
    why = mf.explain(result, main.keys[stayed[0]], others)
    assert why.sentences[0].startswith(f"“{main.keys[stayed[0]]}” stays {result.predicted[stayed[0]]} (was ")


def test_neighbours_and_references_are_told_by_their_classes(runs):
    main, others, known, result = runs[60]
    table = main.table
    if result.course.standardised[0] is not False:
        table = StandardScaler().fit_transform(table)
    row = 120
    why = mf.explain(result, main.keys[row], others, labels=known)
    rest = np.flatnonzero(np.arange(240) != row)
    near = rest[NearestNeighbors(n_neighbors=5).fit(table[rest]).kneighbors(table[[row]])[1][0]]
    assert f"The 5 rows most like it are {counted(main, near)} before" in " ".join(why.sentences)
    for reference in others:
        common = np.flatnonzero(np.isin(main.keys, reference.keys))
        near = common[NearestNeighbors(n_neighbors=3).fit(table[common]).kneighbors(table[[row]])[1][0]]
        there = [reference.keys.tolist().index(key) for key in main.keys[near]]
        lines = [line[-1] for line in why.rows.body if line[0] == f"pair, {reference.name}"]
        assert lines == [called(reference, reference.came, each) for each in there]
        said = f"“{reference.name}” says of the nearest 3 rows that both know: {counted(reference, there)}, where"
        assert said in " ".join(why.sentences)
    labelled = [line for line in why.rows.body if line[0] == "labelled"]
    assert [line[-1] for line in labelled] == [known.names[known.keys.tolist().index(line[1])] for line in labelled]


def test_a_reference_says_of_rows_that_it_knows_what_its_table_says(runs):
    main, others, _, result = runs[0]
    row = int(np.flatnonzero(np.isin(main.keys, others[0].keys))[5])
    there = others[0].keys.tolist().index(main.keys[row])
    said = called(others[0], others[0].came, there)
    why = mf.explain(result, main.keys[row], others)
    assert f"“theirs 0” knows this row itself, and says of it: {said}." in why.sentences
    assert ReferenceOpinion.of(result, others[0]).cell(row) == said


def test_a_later_row_and_a_loaded_refinement_are_explained_alike(runs, tmp_path):
    main, others, known, result = runs[60]
    mf.save(result, tmp_path / "m.npz")
    again = mf.load(tmp_path / "m.npz")
    here, there = (mf.explain(each, main.keys[7], others, labels=known) for each in (result, again))
    # A file has no probabilities as they came, but their log-ratios: these are drawn to equal ones a little.
    assert [line[:3] for line in here.rows.body] == [line[:3] for line in there.rows.body]
    assert here.sentences[0].split(" is ")[-1] == there.sentences[0].split(" is ")[-1]
    later = mf.Observations(main.came[:3], main.table[:3] + 0.01, ids=["a", "b", "c"], classes=NAMES, name="later")
    turned = renamed(later, [3, 0, 2, 1])
    why, other = (mf.explain(result, "b", others, labels=known, later=each) for each in (later, turned))
    assert str(why) == str(other)
    applied = result.apply_in_full(later)
    assert why.rows.body[0][3:5] == (called(main, main.came, 1), called(main, applied.scores, 1))


def test_scores_among_classes_and_classes_among_scores_are_told_as_what_they_are():
    main, others, _, _, _ = draw(4)
    score = mf.Observations(others[0].scores[:, 0], others[0].table, ids=others[0].keys, name="score")
    result = mf.refine(main, [score, others[1]], method=mf.JointDiffusion(same_target=True), rng=0)
    why = " ".join(mf.explain(result, main.keys[150], [score, others[1]]).sentences)
    assert "“score” puts the nearest 3 rows that both know at" in why
    assert "“theirs 1” says of the nearest 3 rows that both know" in why
    ours = mf.Observations(main.scores[:, 0] + 0.0, main.table, ids=main.keys, name="ours")
    result = mf.refine(ours, others, rng=0)
    why = " ".join(mf.explain(result, main.keys[150], others).sentences)
    assert "“theirs 0” says of the nearest 3 rows that both know" in why
    assert "where your scores put them at" in why


def test_labels_must_be_of_the_kind_of_the_predictor(runs):
    main, others, known, result = runs[60]
    with pytest.raises(mf.InputError, match="RankLabels came where ClassLabels was expected"):
        mf.explain(result, main.keys[0], others, labels=mf.RankLabels(known.keys, np.arange(60.0)))


def test_the_page_says_what_references_say_of_rows_that_changed_class(runs):
    _, others, _, result = runs[0]
    shift, heard = ClassShift.of(result), [ReferenceOpinion.of(result, each) for each in others]
    grid = shift.changes_grid(5, heard)
    assert grid.head[3:5] == ("“theirs 0”", "“theirs 1”")
    for line, row in zip(grid.body, shift.changed, strict=False):
        assert line[3:5] == tuple(each.cell(int(row)) for each in heard)
    page = page_of(result, references=others)
    assert all(f"<td>{cell}</td>" in page for line in grid.body for cell in line[3:5])
    assert "“theirs 0”</th>" not in page_of(result)


@pytest.mark.filterwarnings("ignore:.*does not have all classes:manifuse.errors.ManifuseWarning")
def test_references_with_other_classes_come_as_they_were_refined_or_as_the_refusal_says(tmp_path):
    main, others, _, _, _ = draw(1, references=1)
    columns = [f"p_{name}" for name in main.classes.names]
    ours, theirs = (pd.DataFrame(each.came, columns=columns).assign(id=each.keys) for each in (main, others[0]))
    ours["x"], theirs["y"] = main.table[:, 0], others[0].table[:, 0]
    coarse = theirs.assign(p_both=theirs[columns[0]] + theirs[columns[1]]).drop(columns=columns[:2])
    remedy = mf.Observations.from_frame(coarse, classes="p_(.*)", name="reference 1")
    known = mf.refine(ours, [coarse], classes="p_(.*)", rng=0)
    result = mf.refine(mf.Observations.from_frame(ours, classes="p_(.*)", name="main"), [remedy], rng=0)
    mf.write_report(known, tmp_path / "page.html", references=[coarse])
    assert str(mf.explain(known, ours["id"][0], [coarse])) == str(mf.explain(result, ours["id"][0], [remedy]))
    says = "read other classes with `Observations.from_frame`, with its classes= and name='reference 1'"
    with pytest.raises(mf.InputError, match=says):
        mf.write_report(result, tmp_path / "page.html", references=[coarse])
    with pytest.raises(mf.InputError, match=says):
        mf.explain(result, ours["id"][0], [coarse])
    mf.write_report(result, tmp_path / "page.html", references=[remedy])
    assert str(mf.explain(result, ours["id"][0], [remedy])) == str(
        mf.explain(result, ours["id"][0], [coarse], classes="p_(.*)")
    )


@pytest.mark.parametrize("kind", [list, np.array, pd.Index])
def test_columns_of_classes_come_in_any_sequence(kind):
    main, others, _, _, _ = draw(1, references=1)
    ours, theirs = (
        pd.DataFrame(each.came, columns=list(main.classes.names)).assign(id=each.keys) for each in (main, others[0])
    )
    ours["x"], columns = main.table[:, 0], kind(list(main.classes.names))
    result = mf.refine(ours, [theirs], classes=columns, rng=0)
    assert str(mf.explain(result, ours["id"][0], [theirs], classes=columns)) == str(
        mf.explain(result, ours["id"][0], [theirs])
    )
