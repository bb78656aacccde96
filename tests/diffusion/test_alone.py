"""Algorithm 1 by itself: what must not change it, when it ends, and what labels choose."""

from dataclasses import replace

import numpy as np
import pytest
from tests.alone import GRID, alone
from tests.problems import draw, larger, remade

import manifuse as mf
from manifuse.diffusion.joint import Ending
from manifuse.evidence.accuracy import ranking_accuracy

METHODS = {
    "default": {},
    "explicit": {"bridge": mf.ExplicitEuler(step=0.3, steps=5), "rounds": 3},
    "plain": {"anchored": False, "smoothing": 0.0, "ignore_chance": False, "rounds": 3},
}


@pytest.fixture(params=METHODS)
def changes(request):
    return METHODS[request.param]


def run(main, references, labels, changes):
    """Run it with labels, which choose from the grid, or without any."""
    return alone(main, references, labels, replace(mf.Algorithm1() if labels is None else GRID, **changes))


def labels_of(case, labelled):
    return case.labels() if labelled else None


@pytest.mark.parametrize("labelled", [False, True])
def test_a_noisy_predictor_gets_better_by_references_on_other_rows(changes, labelled):
    for seed in range(2):
        case = draw(seed)
        found = run(case.main, case.references, labels_of(case, labelled), changes)
        unseen = np.setdiff1d(np.arange(len(case.main)), case.labelled)
        before, after = (
            ranking_accuracy(case.truth[unseen], scores[unseen]) for scores in (case.main.scores, found.scores)
        )
        assert after > before + 0.02


def test_the_same_seed_gives_the_same_bits(changes):
    case = draw(2)
    first, second = (run(case.main, case.references, case.labels(), changes) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.history == second.history


@pytest.fixture(scope="module", params=[(name, labelled) for name in METHODS for labelled in (False, True)])
def plain(request):
    """A problem with or without labels, how it is refined, and what comes out."""
    name, labelled = request.param
    # References that are left out as chance would hide what changes.
    changes = {**METHODS[name], "ignore_chance": False}
    case = draw(5, references=3)
    return (
        case,
        labels_of(case, labelled),
        changes,
        run(case.main, case.references, labels_of(case, labelled), changes),
    )


def test_shift_scale_and_sign_of_a_reference_do_not_matter(plain):
    case, labels, changes, result = plain
    first, *others = case.references
    again = run(case.main, [remade(first, predictions=4.0 - 2.0 * first.scores), *others], labels, changes)
    np.testing.assert_allclose(again.scores, result.scores, atol=1e-6)
    assert again.weights == pytest.approx(result.weights, abs=1e-6)


def test_shift_and_scale_of_the_main_predictor_carry_over(plain):
    case, labels, changes, result = plain
    moved = run(remade(case.main, predictions=5.0 + 3.0 * case.main.scores), case.references, labels, changes)
    np.testing.assert_allclose(moved.scores, 5.0 + 3.0 * result.scores, rtol=1e-6, atol=1e-6)
    assert result.scores.mean() == pytest.approx(case.main.scores.mean())
    assert result.scores.std() == pytest.approx(case.main.scores.std())


def test_the_order_of_rows_and_of_references_does_not_matter(plain):
    case, labels, changes, result = plain
    order = np.random.default_rng(0).permutation(len(case.main))
    shuffled = remade(
        case.main, predictions=case.main.scores[order], features=case.main.table[order], ids=case.main.keys[order]
    )
    again = run(shuffled, case.references[::-1], labels, changes)
    np.testing.assert_allclose(again.scores, result.scores[order], atol=1e-6)
    assert again.weights == pytest.approx(result.weights[::-1], abs=1e-6)


def test_coupled_tables_need_no_features_and_are_the_identity_bridge(rng):
    case = draw(6, features=False)
    result = alone(case.main, case.references)
    correlations = [np.corrcoef(scores, case.truth)[0, 1] for scores in (case.main.scores, result.scores)]
    assert correlations[1] > correlations[0]
    assert (result.tuned.fidelity == 1.0).all()
    with_features = [
        remade(table, features=rng.standard_normal((len(table), 3))) for table in (case.main, *case.references)
    ]
    again = alone(with_features[0], with_features[1:])
    np.testing.assert_array_equal(again.scores, result.scores)
    np.testing.assert_allclose(alone(case.main, larger(case.references, rng)).scores, result.scores, atol=1e-10)


def test_a_vanishing_step_changes_nothing():
    case = draw(7)
    result = alone(case.main, case.references, method=mf.Algorithm1(step_size=1e-12))
    np.testing.assert_allclose(result.scores, case.main.scores, atol=1e-8)


def test_labels_choose_the_best_cell_and_end_when_their_score_stops_rising():
    case = draw(0)
    found = alone(case.main, case.references, case.labels())
    path, grid = found.path, found.tuned.bridges.algorithm.grid
    assert path.ending is Ending.SCORE_STOPPED_RISING
    scores = [step.score for step in path.history]
    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(ranking_accuracy(case.truth[case.labelled], found.scores[case.labelled]))
    assert found.surface.shape == (8, 7)
    row, column = grid[0].index(path.history[0].step_size), grid[1].index(path.history[0].weight_scale)
    assert found.surface[row, column] == found.surface.max()
    assert all(len(step.alignments) == len(step.weights) == 2 for step in path.history)


def test_if_no_step_raises_the_score_nothing_is_changed():
    """A fair predictor, a poor reference, and fourteen labels."""
    case = draw(10, noise=0.3, references=1)
    noise = np.random.default_rng(0).standard_normal(160)
    weak = remade(case.references[0], predictions=case.references[0].scores + noise)
    found = alone(case.main, [weak], mf.RankLabels(case.main.keys[-14:], case.truth[-14:]))
    assert len(found.path.coefficients) == 0
    np.testing.assert_allclose(found.scores, case.main.scores, rtol=1e-12)


def test_without_labels_rounds_end_when_predictions_settle_or_rounds_are_used_up():
    case = draw(0)
    found = alone(case.main, case.references, method=mf.Algorithm1(rounds=1, settled=0.0))
    assert found.path.ending is Ending.ROUNDS_USED_UP
    assert found.history[-1].round == 1
    assert alone(case.main, case.references).path.ending is Ending.SETTLED


def test_a_round_takes_the_steps_that_it_is_told_to():
    case = draw(0)
    one, two = (alone(case.main, case.references, method=mf.Algorithm1(rounds=1, steps=steps)) for steps in (1, 2))
    assert [step.step for step in one.history] == [0, 1]
    assert [step.step for step in two.history] == [0, 1, 2]
    assert [step.alignments for step in two.history[:2]] == [step.alignments for step in one.history]
    assert np.max(np.abs(two.scores - one.scores)) > 1e-6
