"""References: known at their pairs, imputed elsewhere, from their scores alone."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.columns.run_order import refine_columns
from manifuse.run.preparation import prepare
from manifuse.tables.problem import Problem


def order_of(main, references, **method):
    problem, method = Problem.of(main, references), mf.JointDiffusion(**method)
    return refine_columns(prepare(problem, method, None, 0, mf.Host()))


def bare(main, reference):
    """The scores of the common rows, and nothing else."""
    common = np.isin(reference.keys, main.keys)
    return mf.Observations(reference.scores[common], ids=reference.keys[common], name=reference.name)


def test_at_a_pair_the_score_is_known_and_held_out_it_is_not():
    case = draw(0)
    found = order_of(case.main, case.references)
    for column, reference in enumerate(case.references):
        rows = np.flatnonzero(np.isin(case.main.keys, reference.keys))
        theirs = dict(zip(reference.keys.tolist(), reference.scores, strict=True))
        known = np.array([theirs[key] for key in case.main.keys[rows].tolist()])
        fitted, held_out = (view["references"][rows, column, 0] for view in (found.views.fitted, found.views.held_out))
        np.testing.assert_allclose(fitted, (known - known.mean()) / known.std(), atol=1e-9)
        assert 0.3 < np.corrcoef(held_out, known)[0, 1] < 0.999
        np.testing.assert_array_equal(found.views.fitted["doubt"][rows, column], 0.0)
    assert found.views.fitted["doubt"].max() <= 1.0


def test_a_reference_is_imputed_as_if_it_were_alone(rng):
    """A reference of noise with the same pairs changes nothing of what is known of another one."""
    case = draw(0)
    good = case.references[0]
    noise = remade(good, predictions=rng.permutation(good.scores), name="noise")
    alone, beside = (order_of(case.main, references) for references in ([good], [good, noise]))
    for name in ("references", "imputed", "unseen"):
        for view in ("fitted", "held_out"):
            one, other = (getattr(found.views, view)[name][:, 0] for found in (alone, beside))
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(alone.views.fitted["doubt"][:, 0], beside.views.fitted["doubt"][:, 0])


def test_what_a_reference_knows_is_imputed_too_unless_it_knows_most_rows():
    case = draw(0)
    theirs = case.truth + 0.3 * np.random.default_rng(1).standard_normal(len(case.main))
    few, most = (mf.Observations(theirs[:n], ids=case.main.keys[:n], name=f"{n} rows") for n in (40, 120))
    result = mf.refine(case.main, [few, most], case.labels(), rng=0)
    later = result.fitted_model
    columns = later.columns
    rows = columns.expected.add_to(columns.references.add_to(later.fitted_view, "references"), "expected")
    said, imputed = rows["references"][:, :, 0], rows["imputed"][:, :, 0]
    assert (said[:40, 0] != imputed[:40, 0]).all()
    np.testing.assert_array_equal(imputed[40:, 0], said[40:, 0])
    np.testing.assert_array_equal(imputed[:, 1], said[:, 1])
    as_imputed = columns.expected.at(rows.with_column("references", rows["imputed"]))
    np.testing.assert_array_equal(rows["imputed expected"], as_imputed)
    assert (rows["expected"] != as_imputed)[:40].any()


def test_the_held_out_score_of_a_pair_does_not_depend_on_it():
    case = draw(0, references=1)
    reference = case.references[0]
    pair = np.flatnonzero(np.isin(reference.keys, case.main.keys))[0]
    row = int(np.flatnonzero(case.main.keys == reference.keys[pair])[0])
    scores = reference.scores.copy()
    scores[pair] += 0.5
    plain, changed = (order_of(case.main, [each]) for each in (reference, remade(reference, predictions=scores)))
    levels = [found.columns.references.levels[0] for found in (plain, changed)]
    held_out = [
        found.views.held_out["references"][row, 0] * level.deviation + level.mean
        for found, level in zip((plain, changed), levels, strict=True)
    ]
    fitted = [found.views.fitted["references"][row, 0] for found in (plain, changed)]
    assert abs(held_out[1] - held_out[0]) < 0.1 < abs(fitted[1] - fitted[0])


@pytest.mark.parametrize("labelled", [False, True])
def test_scores_of_the_common_rows_are_enough(labelled):
    case = draw(0)
    labels = case.labels() if labelled else None
    whole = mf.refine(case.main, case.references, labels, rng=0)
    cut = mf.refine(case.main, [bare(case.main, each) for each in case.references], labels, rng=0)
    before, *after = (np.corrcoef(case.truth, s)[0, 1] for s in (case.main.scores, whole.scores, cut.scores))
    # Their features are informative here, so without labels their own graphs are worth something.
    assert after[1] - before > (0.9 if labelled else 0.6) * (after[0] - before) > 0.1


def test_a_later_row_that_a_bare_reference_knows_has_its_score():
    case = draw(0, references=1)
    reference = bare(case.main, case.references[0])
    ids = np.append(reference.keys, "later")
    row = int(np.argmin(np.abs(case.main.scores)))
    results = []
    for score in (reference.scores.min(), reference.scores.max()):
        given = mf.Observations(np.append(reference.scores, score), ids=ids, name="theirs")
        result = mf.refine(case.main, [given], rng=0)
        later = mf.Observations(case.main.scores[[row]], case.main.table[[row]], ids=["later"], name="later")
        refined = result.apply_in_full(later)
        results.append(refined.scores[0])
        assert refined.support[0] == pytest.approx(1.0)
    assert results[1] > results[0] + 0.5 * case.main.scores.std()


def test_labels_at_pairs_teach_and_measure_what_other_rows_would_show():
    """The gain that labels at pairs report is that of rows that are no pairs."""
    said, true = [], []
    for seed in range(6):
        case = draw(seed, references=1, noise=1.0)
        paired = np.isin(case.main.keys, case.references[0].keys)
        rows = np.flatnonzero(paired)[:50]
        labels = mf.RankLabels(case.main.keys[rows], case.truth[rows])
        result = mf.refine(case.main, case.references, labels, rng=0)
        other = np.flatnonzero(~paired)
        score = mf.RankLabels(case.main.keys[other], case.truth[other])
        said.append(result.gain.value)
        true.append(gain(score, case.main, result.scores))
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.04)


def gain(labels, main, refined):
    from manifuse.evidence.labelled import score_of

    score = score_of(labels, main, regression=False)
    return score.gain(main.scores[score.rows], refined[score.rows]).value


@pytest.mark.parametrize("labelled", [False, True])
def test_the_fidelity_of_a_reference_that_knows_most_rows_is_that_of_held_out_pairs(rng, labelled):
    features, noise = rng.standard_normal((200, 3)), rng.standard_normal((2, 200))
    main = mf.Observations(features[:, 0] + noise[0], features, ids=range(200), name="main")
    other = mf.Observations((features[:, 0] + noise[1])[:170], ids=range(170), name="other")
    labels = mf.RankLabels(range(150, 190), features[150:190, 0] + features[150:190, 1]) if labelled else None
    (entry,) = mf.refine(main, [other], labels, rng=0).relevance
    assert 0.4 < entry.fidelity < 0.85


@pytest.mark.parametrize("kind", ["good", "shuffled"])
def test_support_is_the_share_of_a_references_variance_that_is_known(kind, rng):
    case = draw(0, rows=1000, pairs=200, references=1)
    (reference,) = case.references
    if kind == "shuffled":
        reference = remade(reference, predictions=rng.permutation(reference.scores))
    result = mf.refine(case.main, [reference], rng=0)
    pairs = np.isin(case.main.keys, reference.keys)
    np.testing.assert_array_equal(result.support[pairs], 1.0)
    (relevance,) = result.relevance
    if kind == "shuffled":
        assert result.support[~pairs].max() < 0.1
    else:
        # The share that is explained at pairs that were held out is the square of a correlation.
        assert result.support[~pairs].mean() == pytest.approx(relevance.fidelity**2, abs=0.1)
        assert relevance.fidelity**2 > 0.6
