"""Why a row moved: nearest rows and pairs, computed a second time by scikit-learn."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import percentileofscore
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from tests.problems import draw

import manifuse as mf


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module")
def result(case):
    return mf.refine(case.main, case.references, case.labels(), rng=0)


def ids_of(why, kind):
    return [line[1] for line in why.rows.body if line[0] == kind]


def test_nearest_rows_and_pairs_are_the_nearest(case, result):
    table = (
        case.main.table if result.course.standardised[0] is False else StandardScaler().fit_transform(case.main.table)
    )
    reference = case.references[0]
    common = np.flatnonzero(np.isin(case.main.keys, reference.keys))
    for row in (0, 7, 159):
        common = common[common != row]
        why = mf.explain(result, case.main.keys[row], case.references)
        found = NearestNeighbors(n_neighbors=6).fit(table).kneighbors(table[[row]], return_distance=False)[0]
        assert ids_of(why, "nearest") == case.main.keys[found[1:]].tolist()
        near = NearestNeighbors(n_neighbors=3).fit(table[common]).kneighbors(table[[row]], return_distance=False)[0]
        assert ids_of(why, f"pair, {reference.name}") == case.main.keys[common[near]].tolist()
        theirs = [line[-1] for line in why.rows.body if line[0] == f"pair, {reference.name}"]
        for key, said in zip(case.main.keys[common[near]], theirs, strict=True):
            score = reference.scores[reference.keys.tolist().index(key)]
            assert float(said) == pytest.approx(percentileofscore(reference.scores, score, "strict"), abs=1.2)


def test_it_says_where_a_reference_that_knows_the_row_puts_it(case, result):
    reference = case.references[0]
    known = np.isin(case.main.keys, reference.keys)
    row = int(np.flatnonzero(known)[3])
    (place,) = np.flatnonzero(reference.keys == case.main.keys[row])
    expected = 100 * np.mean(reference.scores < reference.scores[place]) * len(reference) / (len(reference) - 1)
    why = mf.explain(result, case.main.keys[row], case.references)
    assert f"“{reference.name}” knows this row itself, and puts it at {expected:.0f}." in why.sentences
    assert [line[-1] for line in why.rows.body if line[0] == f"this row, {reference.name}"] == [f"{expected:.0f}"]
    stranger = case.main.keys[np.flatnonzero(~known)[0]]
    assert "itself" not in str(mf.explain(result, stranger, case.references[:1]))


def test_it_says_what_the_labels_say_of_the_row_and_of_the_nearest_labelled_ones(case, result):
    labels, rows = case.labels(), case.labelled
    table = case.main.table
    if result.course.standardised[0] is not False:
        table = StandardScaler().fit_transform(table)
    for row in (int(rows[4]), int(np.setdiff1d(np.arange(160), rows)[4])):
        why = mf.explain(result, case.main.keys[row], case.references, labels=labels)
        own = [f"Its own label is {case.truth[row]:g}."] if row in rows else []
        assert [sentence for sentence in why.sentences if sentence.startswith("Its own label")] == own
        others = rows[rows != row]
        near = NearestNeighbors(n_neighbors=3).fit(table[others]).kneighbors(table[[row]], return_distance=False)[0]
        assert ids_of(why, "labelled") == case.main.keys[others[near]].tolist()
        one, two, three = (f"{truth:g}" for truth in case.truth[others[near]])
        assert [line[-1] for line in why.rows.body if line[0] == "labelled"] == [one, two, three]
        assert f"The labels of the nearest labelled rows are {one}, {two} and {three}; your scores put" in " ".join(
            why.sentences
        )
        assert max(map(len, str(why).splitlines())) <= 80
    with pytest.raises(mf.InputError, match="The labels are ordered pairs"):
        mf.explain(result, "m0", labels=mf.RankLabels.from_pairs(["m1"], ["m2"]))
    with pytest.raises(mf.InputError, match="The labels and main have no rows in common"):
        mf.explain(result, "m0", labels=mf.RankLabels(["x", "y", "z"], [0, 1, 2]))


def test_it_is_silent_of_references_that_took_no_part(case):
    noise = mf.Observations(
        np.random.default_rng(0).standard_normal(160),
        case.references[0].table,
        ids=case.references[0].keys,
        name="noise",
    )
    references = [*case.references, noise]
    taught = mf.refine(case.main, references, None, mf.JointDiffusion(same_target=True, ignored=("noise",)), rng=0)
    why = mf.explain(taught, "m7", references)
    assert not any("noise" in text for text in (*why.sentences, *(line[0] for line in why.rows.body)))
    assert sum("puts the nearest 3 rows" in sentence for sentence in why.sentences) == 2


def test_it_says_where_the_row_was_and_is(case, result):
    came, order = (np.round(100 * np.argsort(np.argsort(each)) / 159) for each in (case.main.scores, result.scores))
    row = int(np.argmax(order - came))
    why = mf.explain(result, case.main.keys[row])
    assert f"rises from place {came[row]:.0f} to {order[row]:.0f} (0 is the lowest score" in why.sentences[0]
    assert f"support is {result.support[row]:.2f}" in " ".join(why.sentences)
    assert "standard error of" in " ".join(why.sentences)
    assert case.main.keys[row] in why._repr_html_()


def test_what_cannot_be_explained_is_refused(case, result):
    with pytest.raises(mf.InputError, match="main has no row with the id 'nobody'"):
        mf.explain(result, "nobody")
    stranger = mf.Observations([1.0, 2, 3], ids=["x", "y", "z"], name="stranger")
    with pytest.raises(mf.InputError, match="stranger is no reference of this result"):
        mf.explain(result, "m0", [stranger])
    namesake = mf.Observations([1.0, 2, 3], ids=["x", "y", "z"], name="reference 1")
    with pytest.raises(mf.InputError, match="reference 1 and main have no rows in common; give what was refined with"):
        mf.explain(result, "m0", [namesake])


def test_without_features_only_the_row_itself_is_like_it():
    coupled = draw(0, features=False)
    taught = mf.refine(coupled.main, coupled.references, coupled.labels(), rng=0)
    why = mf.explain(taught, "m3", coupled.references)
    assert ids_of(why, "nearest") == []
    assert ids_of(why, "this row, reference 1") == ["m3"]
    assert ids_of(why, "pair, reference 1") == []
    method = mf.JointDiffusion(same_target=False)
    refused = mf.refine(coupled.main, coupled.references, method=method, rng=0)
    refused = mf.explain(refused, "m3", coupled.references)
    assert refused.sentences[-1] == "The refinement was not taken, so no row moved."
    assert [line[0] for line in refused.rows.body] == ["this row"]


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["score", "probability", "amounts"])
def test_a_later_row_is_explained_by_its_refined_score_and_the_fitted_rows(labelled, kind):
    case, row = draw(0), 17
    scale = "probability" if kind == "probability" else "score"
    scores = {"score": np.asarray, "probability": expit, "amounts": lambda z: np.exp(3.0 * z)}[kind](case.main.scores)
    whole = mf.Observations(scores, case.main.table, ids=case.main.keys, name="main", scale=scale)
    others = np.flatnonzero(np.arange(160) != row)
    labels = case.labels() if labelled else None
    method = mf.JointDiffusion(same_target=True)
    result = mf.refine(whole.take(others), case.references, labels, method, rng=0)
    later = whole.take(np.array([3, row]))
    why = mf.explain(result, whole.keys[row], case.references, later=later)
    applied = result.apply_in_full(later)
    before, after = np.append(scores[others], scores[row]), np.append(result.predictions, applied.scores[1])
    assert why.rows.body[0][3:5] == tuple(
        f"{percentileofscore(each, each[-1], 'strict') * 160 / 159:.0f}" for each in (before, after)
    )
    assert f"Its support is {applied.support[1]:.2f}" in " ".join(why.sentences)
    assert ("standard error of" in " ".join(why.sentences)) is labelled
    features = case.main.table
    if result.course.standardised[0] is not False:
        features = StandardScaler().fit_transform(features)
    near = others[NearestNeighbors(n_neighbors=5).fit(features[others]).kneighbors(features[[row]])[1][0]]
    assert ids_of(why, "nearest") == whole.keys[near].tolist()


@pytest.mark.filterwarnings("ignore:Features are taken in the order")
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_later_row_may_come_in_a_data_frame(case, result, make):
    ids = [f"new{row}" for row in range(160)]
    names = [f"x{column}" for column in range(case.main.table.shape[1])]
    frame = make({"who": ids, "risk": case.main.scores} | dict(zip(names, case.main.table.T, strict=True)))
    later = mf.Observations(case.main.scores, case.main.table, ids=ids, name="later")
    why = mf.explain(result, "new5", case.references, later=frame, id="who", score="risk")
    assert str(why) == str(mf.explain(result, "new5", case.references, later=later))
    with pytest.raises(mf.InputError, match="the frame has no column 'id'"):
        mf.explain(result, "new5", later=frame, score="risk")
    with pytest.raises(mf.InputError, match="list came for the frame, but Observations or a data frame"):
        mf.explain(result, "new5", later=[1.0])


def test_a_row_that_was_fitted_and_has_changed_is_explained_as_it_is_refined(case, result):
    """References still know it by its id, in what it is refined to and in what is said of it."""
    best = int(case.main.scores.argmax())
    known = [np.isin(case.main.keys, each.keys) for each in case.references]
    for row in (int(np.flatnonzero(known[0])[0]), int(np.flatnonzero(~np.any(known, axis=0))[0])):
        key = case.main.keys[row]
        again = mf.Observations(case.main.scores[[best]], case.main.table[[best]], ids=[key], name="again")
        with pytest.warns(mf.ManifuseWarning, match="were fitted with other scores"):
            why, refined = mf.explain(result, key, case.references, later=again), result.apply(again)[0]
        assert f"is {refined:.4g}" in why.sentences[0]
        assert ids_of(why, "this row") == [f"{key}, as it came later"]
        for each, knows in zip(case.references, known, strict=True):
            assert (f"“{each.name}” knows this row itself" in str(why)) is bool(knows[row])


def test_columns_that_were_left_out_need_not_be_named_again(case):
    def frame(table):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        return pl.DataFrame({"id": table.keys, "score": table.scores, **features, "town": ["Bonn"] * len(table)})

    main, others = frame(case.main), [frame(each) for each in case.references]
    result = mf.refine(main, others, drop=["town"], rng=0)
    why = mf.explain(result, case.main.keys[7], others)
    assert str(why) == str(mf.explain(result, case.main.keys[7], others, drop=["town"]))


def test_a_row_that_was_fitted_and_comes_again_is_explained_as_it_was_fitted(case, result):
    again = case.main.take(np.arange(9))
    known = mf.explain(result, "m5", case.references)
    assert str(mf.explain(result, "m5", case.references, later=again)) == str(known)


def test_a_later_row_that_cannot_be_refined_is_refused(case, result):
    ids = [f"new{row}" for row in range(160)]
    bare = mf.Observations(case.main.scores, ids=ids, name="bare")
    with pytest.raises(mf.InputError, match="bare came with 0 features"):
        mf.explain(result, "new3", later=bare)
    with pytest.raises(mf.InputError, match="bare has no row with the id 'm3'"):
        mf.explain(result, "m3", later=bare)
    likely = mf.Observations(expit(case.main.scores), case.main.table, ids=ids, name="likely", scale="probability")
    with pytest.raises(mf.InputError, match="likely has scale='probability'"):
        mf.explain(result, "new3", later=likely)


def test_without_features_a_row_that_no_reference_knows_is_explained():
    rng = np.random.default_rng(0)
    truth, ids = rng.standard_normal(300), [f"r{row}" for row in range(300)]
    main = mf.Observations(truth[:280] + rng.standard_normal(280), ids=ids[:280], name="main")
    references = [mf.Observations(truth[:290] + rng.standard_normal(290), ids=ids[:290], name=f"R{k}") for k in (1, 2)]
    result = mf.refine(main, references, method=mf.JointDiffusion(same_target=True), rng=0)
    later = mf.Observations(truth[280:], ids=ids[280:], name="later")
    why = mf.explain(result, "r295", references, later=later)
    assert "Without features, no row that “R1” knows is near." in why.sentences


@pytest.mark.parametrize("classes", [False, True])
def test_without_references_it_does_not_speak_of_them(case, classes):
    if classes:
        halves = mf.datasets.load_digit_halves(labels=60)
        main, labels = halves.main, halves.labels
    else:
        main, labels = case.main, case.labels()
    why = mf.explain(mf.refine(main, [], labels, rng=0), main.keys[3], [])
    assert "reference" not in str(why)
    assert "theirs" not in why.rows.head


def test_the_meaning_of_support_is_said():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert "0: the references say nothing of it; 1: they know it" in str(
        mf.explain(result, case.main.keys[3], case.references)
    )


@pytest.mark.parametrize("known, with_features", [(150, False), (150, True), (400, False)])
def test_references_whose_scores_count_by_their_order_are_known_again(rng, known, with_features):
    features = rng.standard_normal((400, 3))
    truth = features[:, 0] + features[:, 1]
    main = mf.Observations(truth + rng.standard_normal(400), features, ids=range(400), name="ours")
    amounts = np.exp(2.0 * (truth[:known] + 0.3 * rng.standard_normal(known)))
    own = features[:known] if with_features else None
    theirs = mf.Observations(amounts, own, ids=range(known), name="theirs")
    result = mf.refine(main, [theirs], rng=0)
    assert result.relevance[0].is_straightened
    assert mf.explain(result, "20", [theirs]).sentences
    other = mf.Observations(amounts[::-1].copy(), own, ids=range(known), name="theirs")
    with pytest.raises(mf.InputError, match="theirs has other scores than when it was fitted"):
        mf.explain(result, "20", [other])


def test_a_regression_is_explained_in_its_units(case):
    """Cells have the score and its place, and what stands beside labels can be compared with them."""
    scores, truth = (500 + 100 * each for each in (case.main.scores, case.truth))
    main = mf.Observations(scores, case.main.table, ids=case.main.keys, name="ours")
    labels = mf.RankLabels(case.main.keys[case.labelled], truth[case.labelled])
    result = mf.refine(main, case.references, labels, rng=0, task="regression")
    why = mf.explain(result, "m3", case.references, labels=labels)
    for _, key, _, before, after, _ in why.rows.body:
        row = main.keys.tolist().index(key)
        for cell, values in ((before, scores), (after, result.scores)):
            value, place = cell.rstrip(")").split(" (")
            assert float(value.replace(",", "")) == pytest.approx(values[row], rel=1e-3)
            assert float(place) == pytest.approx(100 * np.mean(values < values[row]) * 160 / 159, abs=0.51)
    near = np.isin(main.keys, ids_of(why, "labelled"))
    (said,) = [each for each in why.sentences if each.startswith("The labels of the nearest")]
    assert said.endswith(f"; your scores of these rows are {scores[near].mean():.1f} on average.")
    (cell, *_) = [line[-1] for line in why.rows.body if line[0] == f"pair, {case.references[0].name}"]
    (key, *_) = ids_of(why, f"pair, {case.references[0].name}")
    theirs = case.references[0].scores[case.references[0].keys.tolist().index(key)]
    assert float(cell.split(" (")[0]) == pytest.approx(theirs, rel=1e-3)
