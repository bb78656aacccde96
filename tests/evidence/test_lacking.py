"""Later rows that coupled references lack."""

from itertools import product

import numpy as np
import pytest

import manifuse as mf
from manifuse.diffusion.later_rows import LaterRows
from manifuse.evidence.lacking import Lacking
from manifuse.evidence.likeness import Rows


def coupled_regression(rng, known, *, features):
    """A regression with four coupled references, of which later rows are known to the first ``known``."""
    points = rng.standard_normal((700, 4))
    truth = np.tanh(points @ rng.standard_normal((4, 3))) @ rng.standard_normal(3)
    truth = (truth - truth.mean()) / truth.std()
    ids = np.array([f"r{row}" for row in range(700)])

    def table(scores, rows, name):
        return mf.Observations(scores[rows], points[rows] if features else None, ids=ids[rows], name=name)

    main = truth + rng.standard_normal(700)
    references = [
        table(truth + 0.7 * rng.standard_normal(700), slice(700 if number < known else 400), f"reference {number}")
        for number in range(4)
    ]
    labels = mf.RankLabels(ids[:60], truth[:60])
    result = mf.refine(
        table(main, slice(400), "main"), references, labels, mf.JointDiffusion(task="regression"), rng=0
    )
    return result, table(main, slice(400, 700), "later"), truth[400:]


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("known", [0, 1])
def test_intervals_of_later_rows_that_references_lack_are_wide_enough(known, features):
    covered = []
    for seed in range(3):
        result, later, truth = coupled_regression(np.random.default_rng(seed), known, features=features)
        found = result.apply_in_full(later)
        covered.append(np.mean(np.abs(found.scores - truth) < 1.645 * found.errors))
    assert 0.83 < np.mean(covered) < 0.99


def test_where_features_tell_what_references_would_later_rows_do_not_need_them():
    """Without the references' scores they come out about as well as with these, and their support says so."""
    errors, supports = [], []
    for seed, known in product(range(3), (0, 4)):
        result, later, truth = coupled_regression(np.random.default_rng(seed), known, features=True)
        found = result.apply_in_full(later)
        errors.append(np.sqrt(np.mean((found.scores - truth) ** 2)))
        supports.append(found.support.mean())
    without, with_all = np.reshape(errors, (-1, 2)).mean(axis=0)
    assert without < 1.25 * with_all
    assert 0.8 < np.mean(supports[::2]) < np.mean(supports[1::2])


@pytest.mark.parametrize("features", [False, True])
def test_what_references_lack_does_not_depend_on_the_rows_beside_it(features):
    """Every reference lacks other rows."""
    result, later, _ = coupled_regression(np.random.default_rng(0), 2, features=features)
    for number, lookup in result.refiner.fit.bridges.lookups.items():
        there = np.ones(len(lookup.keys), dtype=bool)
        there[400 + 60 * number : 400 + 60 * number + 90] = False
        object.__setattr__(lookup, "keys", np.where(there, lookup.keys, np.char.add("not ", lookup.keys)))
    whole = result.apply_in_full(later)
    few = np.arange(0, 300, 7)
    part = result.apply_in_full(later.take(few))
    for name in ("scores", "errors", "support"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[few])


def test_a_reference_in_reverse_of_another_tells_what_that_one_lacks():
    """Its errors are those of the other one, with the other sign, whatever own scores say."""
    rng = np.random.default_rng(3)
    own, theirs = rng.standard_normal((2, 300))
    rows = Rows(own[:, None], np.empty((300, 0)), np.empty((300, 0)))
    main = mf.Observations(own, ids=range(300))
    lacking = Lacking.learn(main, rows, {4: theirs, 7: -theirs}, None)
    later, there = rng.standard_normal((2, 50)), np.arange(50) % 2
    new = LaterRows(later[0], None, {4: (later[1], np.ones(50)), 7: (np.where(there, -later[1], 0.0), there)})
    filled = lacking.fill(new, Rows(later[0][:, None], np.empty((50, 0)), np.empty((50, 0))))
    np.testing.assert_allclose(filled.looked_up[7][0], -later[1], atol=0.05)
    np.testing.assert_array_equal(filled.looked_up[7][1], np.where(there, 1.0, lacking.kept))
    np.testing.assert_array_equal(filled.looked_up[4][0], later[1])


def later_scores(seed, odd):
    """Scores of later rows that one coupled reference lacks and those of ``odd`` know; and the truth."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((400, 3))
    truth = np.tanh(points @ rng.standard_normal(3))
    ids = np.array([f"r{row}" for row in range(400)])

    def table(scores, rows, name):
        return mf.Observations(scores[rows], points[rows], ids=ids[rows], name=name)

    references = [mf.Observations((truth + 0.3 * rng.standard_normal(400))[:200], ids=ids[:200], name="lacks")]
    main = truth + 0.7 * rng.standard_normal(400)
    references += [mf.Observations(each, ids=ids, name=f"odd {number}") for number, each in enumerate(odd(truth, rng))]
    result = mf.refine(table(main, slice(200), "main"), references, mf.RankLabels(ids[:40], truth[:40]), rng=0)
    return result.apply_in_full(table(main, slice(200, 400), "later")).scores, truth[200:]


def nothing(truth, rng):
    del truth, rng
    return ()


def hardly_varies_where_fitted(truth, rng):
    scores = rng.standard_normal(len(truth))
    scores[1:200] = 0.0
    return (scores,)


def revised_later(truth, rng):
    one, another = (truth + 0.5 * rng.standard_normal(len(truth)) for _ in range(2))
    copy = one + 1e-3 * rng.standard_normal(len(truth))
    copy[200:] = another[200:]
    return one, copy


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
@pytest.mark.parametrize("odd", [hardly_varies_where_fitted, revised_later])
def test_references_that_say_nothing_of_the_fitted_rows_do_not_lead_later_rows_astray(odd):
    for seed in range(3):
        with_odd, without = (np.corrcoef(*later_scores(seed, each))[0, 1] for each in (odd, nothing))
        assert with_odd > without - 0.05


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_a_reference_that_takes_no_part_does_not_say_what_others_lack():
    for seed in range(3):
        (found, _), (expected, _) = (later_scores(seed, each) for each in (hardly_varies_where_fitted, nothing))
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_many_references_at_few_fitted_rows_say_no_less_than_those_that_know_later_rows(seed):
    """28 references know the later rows, 28 do not, and the errors of all are measured at 30 rows."""
    rng = np.random.default_rng(seed)
    truth, ids = rng.standard_normal(330), np.array([f"r{row}" for row in range(330)])
    scores = truth + 1.5 * rng.standard_normal((56, 330))
    references = [
        mf.Observations(each[:rows], ids=ids[:rows], name=f"reference {number}")
        for number, (each, rows) in enumerate(zip(scores, [330] * 28 + [30] * 28, strict=True))
    ]
    main = truth + rng.standard_normal(330)
    ours = mf.Observations(main[:30], ids=ids[:30], name="main")
    later = mf.Observations(main[30:], ids=ids[30:], name="later")
    method = mf.JointDiffusion(same_target=True)
    found, expected = (
        np.corrcoef(mf.refine(ours, given, method=method, rng=0).apply(later), truth[30:])[0, 1]
        for given in (references, references[:28])
    )
    assert found > expected - 0.03
