"""Smoothing the main predictor over its own graph before the references are used."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.backends.neighbours import Query
from manifuse.diffusion.presmoothing import Presmoothing, SmoothingSetting
from manifuse.diffusion.reason import Reason
from manifuse.evidence.presmoothing_choice import choose_presmoothing
from manifuse.evidence.score import score_of
from manifuse.kernels.sphere import standardise
from manifuse.study.ranking.accuracy import ranking_accuracy


def searched(main, count=20):
    return mf.Host().search(main.table, Query(count, True), np.random.default_rng(0))


def presmoothing(main, *, scale=np.inf, rounds=2):
    table = searched(main)
    return Presmoothing(main, mf.Host().graph(table, 5), SmoothingSetting(5, True, 10.0, scale, rounds))


def graded(case):
    return score_of(case.labels(), case.main, regression=False)


def test_every_round_brings_neighbours_together_and_keeps_mean_and_norm(rng):
    main = mf.Observations(rng.uniform(2, 3, 60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = presmoothing(main)
    stages = [standardise(main.scores), *(presmoothing(main, rounds=rounds).smoothed() for rounds in (1, 2))]
    start, stop = chosen.graph.stored().weights.nonzero()
    roughness = [np.mean((scores[start] - scores[stop]) ** 2) for scores in stages]
    assert roughness[0] > roughness[1] > roughness[2]
    final = chosen.scores()
    assert (final.mean(), final.std()) == pytest.approx((main.scores.mean(), main.scores.std()))
    np.testing.assert_allclose(standardise(final), stages[2], atol=1e-12)


def test_one_round_is_the_solution_of_the_linear_system(rng):
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = presmoothing(main, rounds=1)
    affinity = chosen.graph.affinity(np.zeros(60), np.inf).matrix().toarray()
    solved = np.linalg.solve(11.0 * np.eye(60) - 10.0 * affinity, np.column_stack([main.scores, np.ones(60)]))
    averages = solved[:, 0] / solved[:, 1]
    np.testing.assert_allclose(chosen.smoothed(), standardise(averages), atol=1e-7)


def test_the_labels_choose_the_best_smoothing_and_it_is_returned():
    case = draw(0)
    score = graded(case)
    table = searched(case.main)
    chosen = choose_presmoothing(case.main, [table], score, mf.Host())
    reached = score.evaluate(chosen.smoothed()[score.rows, None])[0]
    assert reached > score.evaluate(case.main.scores[score.rows, None])[0]
    for count, step, scale in ((5, 1.0, 0.1), (10, 10.0, 0.3), (20, 30.0, np.inf)):
        for rounds in (1, 2, 3):
            other = Presmoothing(
                case.main, mf.Host().graph(table, count), SmoothingSetting(count, True, step, scale, rounds)
            )
            assert reached >= score.evaluate(other.smoothed()[score.rows, None])[0]


def test_scores_that_no_smoothing_improves_are_not_changed():
    case = draw(0)
    perfect = remade(case.main, predictions=case.truth)
    assert choose_presmoothing(perfect, [searched(perfect)], graded(case), mf.Host()) is None


def test_a_later_row_takes_the_step_that_its_own_row_of_the_system_asks_for(rng):
    """Two rounds by hand, from dense matrices."""
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    table = searched(main)
    chosen = Presmoothing(main, mf.Host().graph(table, 5), SmoothingSetting(5, True, 10.0, 0.3, 2))
    features, score = rng.standard_normal(2), 0.4
    scaled = (features - main.table.mean(axis=0)) / main.table.std(axis=0)
    squares = np.sum(((main.table - main.table.mean(axis=0)) / main.table.std(axis=0) - scaled) ** 2, axis=1)
    near = np.argsort(squares)[:5]
    own = (score - main.scores.mean()) / main.scores.std()
    fitted = standardise(main.scores)
    for _ in range(2):
        affinity = chosen.graph.affinity(fitted, 0.3).matrix().toarray()
        inverse = np.linalg.inv(11.0 * np.eye(60) - 10.0 * affinity)
        smoothed, constant = inverse @ fitted, inverse @ np.ones(60)
        widths = np.sqrt(2 * squares[near].mean() * chosen.graph.scales[near])
        weights = np.exp(-squares[near] / widths) * np.exp(-((own - fitted[near]) ** 2) / 0.3)
        weights /= np.sqrt(weights.sum() * chosen.graph.degrees(fitted, 0.3)[near])
        own = (own + 10.0 * weights @ smoothed[near]) / (1.0 + 10.0 * weights @ constant[near])
        averages = smoothed / constant
        own, fitted = (own - averages.mean()) / averages.std(), standardise(averages)
    new = mf.Observations([score], features[None], ids=["new"])
    assert chosen.extend(new)[0] == pytest.approx(own, abs=1e-6)


def test_scores_of_any_size_are_smoothed_alike():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    for size in (1e-165, 1e150):
        other = remade(case.main, predictions=size * case.main.scores)
        again = mf.refine(other, case.references, case.labels(), rng=0)
        np.testing.assert_allclose(np.asarray(again.predictions) / size, result.predictions, rtol=1e-6, atol=1e-9)


def test_where_smoothing_alone_was_best_no_reference_is_credited():
    case = draw(0)
    method = mf.JointDiffusion(rounds=1, standardised=True)
    result = mf.refine(case.main, case.references, case.labels(), method, rng=0)
    assert result.accepted
    assert result.reason is Reason.SMOOTHED_ONLY
    assert not result.weights.any()
    assert not any(entry.weight for entry in result.relevance)
    # A later row has the support of the fitted rows around it.
    new = remade(case.main, ids=[f"new {row}" for row in range(len(case.main))])
    assert np.corrcoef(result.support_of(new), result.support)[0, 1] > 0.5
    assert result.support_of(new).mean() == pytest.approx(result.support.mean(), abs=0.1)


def test_evidence_at_the_pairs_is_of_the_scores_as_they_came():
    case = draw(0)
    plain = mf.refine(case.main, case.references, case.labels(), mf.JointDiffusion(presmoothed=False), rng=0)
    again = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert again.choice.presmoothing is not None
    for one, other in zip(again.relevance, plain.relevance, strict=True):
        assert one.held_out_alignment == other.held_out_alignment
        assert one.chance_alignment == other.chance_alignment


def test_with_only_useless_references_the_main_predictor_is_not_changed():
    case = draw(0)
    noise = [
        remade(r, predictions=np.random.default_rng(k).standard_normal(len(r))) for k, r in enumerate(case.references)
    ]
    result = mf.refine(case.main, noise, case.labels(), rng=0)
    assert result.reason is Reason.NO_REFERENCE
    np.testing.assert_array_equal(result.predictions, case.main.scores)


def test_a_coupled_run_goes_on_without_the_library_for_large_tables(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    case = draw(0, rows=120, pairs=120)
    with pytest.warns(mf.ManifuseWarning, match="main is not presmoothed: Approximate neighbour search"):
        result = mf.refine(case.main, case.references, case.labels(), rng=0, backend=mf.Host(exact_work=0))
    assert result.choice.presmoothing is None


def test_without_labels_nothing_is_presmoothed():
    case = draw(2)
    plain = mf.refine(case.main, case.references, method=mf.JointDiffusion(presmoothed=False), rng=0)
    again = mf.refine(case.main, case.references, rng=0)
    np.testing.assert_array_equal(again.predictions, plain.predictions)
    assert again.choice.presmoothing is None


def test_it_helps_coupled_predictors_that_have_features():
    gains = []
    for seed in range(4):
        case = draw(seed, rows=300, pairs=300)
        unseen = np.setdiff1d(np.arange(300), case.labelled)
        before, after = (
            ranking_accuracy(
                case.truth[unseen],
                mf.refine(
                    case.main, case.references, case.labels(), mf.JointDiffusion(presmoothed=flag), rng=0
                ).predictions[unseen],
            )
            for flag in (False, True)
        )
        gains.append(after - before)
    assert np.mean(gains) > 0.005


def test_features_that_are_all_equal_are_no_reason_to_stop():
    case = draw(6, features=False)
    level = remade(case.main, features=np.ones((len(case.main), 2)))
    result = mf.refine(level, case.references, case.labels(), rng=0)
    np.testing.assert_array_equal(
        result.predictions, mf.refine(case.main, case.references, case.labels(), rng=0).predictions
    )


@pytest.mark.parametrize("labelled", [False, True])
def test_later_rows_need_features_only_where_there_is_a_graph(labelled):
    case = draw(3, rows=200, pairs=200)
    result = mf.refine(case.main, case.references, case.labels() if labelled else None, rng=0)
    bare = mf.Observations(case.main.scores[:5], ids=[f"new {row}" for row in range(5)], name="later")
    if labelled:
        assert result.choice.presmoothing is not None
        with pytest.raises(mf.InputError, match="later came with 0 features"):
            result.apply(bare)
    else:
        assert result.apply(bare).shape == (5,)
