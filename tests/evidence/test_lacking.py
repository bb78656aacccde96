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
    for seed in range(4):
        result, later, truth = coupled_regression(np.random.default_rng(seed), known, features=features)
        found = result.apply_in_full(later)
        covered.append(np.mean(np.abs(found.scores - truth) < 1.645 * found.errors))
    assert 0.83 < np.mean(covered) < 0.99


def test_where_features_tell_what_references_would_later_rows_do_not_need_them():
    """Without the references' scores they come out about as well as with these, and their support says so."""
    errors, supports = [], []
    for seed, known in product(range(4), (0, 4)):
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
    np.testing.assert_allclose(filled.looked_up[7][0], -later[1], atol=1e-3)
    np.testing.assert_array_equal(filled.looked_up[7][1], np.where(there, 1.0, lacking.kept))
    np.testing.assert_array_equal(filled.looked_up[4][0], later[1])
