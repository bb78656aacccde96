"""What must not change a result: units, and the order of rows, columns and references."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manifuse as mf
from tests.alone import alone
from tests.problems import draw, remade

TELL = mf.JointDiffusion(same_target=True)
METHODS = {"taught": partial(mf.refine, method=TELL), "alone": alone}

#: Powers of two by which finite numbers stay finite, though their squares do not.
EXPONENTS = st.integers(-960, 1000)


@pytest.fixture(scope="module")
def case():
    return draw(0, rows=70, pairs=30, references=2)


def refined(case, main=None, references=None, *, labelled, method):
    labels = case.labels() if labelled else None
    return METHODS[method](main or case.main, references or case.references, labels, rng=0)


@pytest.fixture(scope="module")
def plain(case):
    found = {(m, flag): refined(case, labelled=flag, method=m) for m in METHODS for flag in (True, False)}
    assert all(each.accepted for each in found.values())
    return found


@settings(max_examples=12, deadline=None, derandomize=True)
@given(EXPONENTS, EXPONENTS, EXPONENTS, st.sampled_from(list(METHODS)), st.booleans())
def test_powers_of_two_change_no_bit(case, plain, of_main, of_reference, of_scores, method, labelled):
    """Of features of the main table, of features of a reference, and of its scores."""
    main = remade(case.main, features=np.ldexp(case.main.table, of_main))
    first, *others = case.references
    first = remade(first, predictions=np.ldexp(first.scores, of_scores), features=np.ldexp(first.table, of_reference))
    found = refined(case, main, [first, *others], labelled=labelled, method=method)
    np.testing.assert_array_equal(found.scores, plain[method, labelled].scores)
    np.testing.assert_array_equal(found.support, plain[method, labelled].support)
    later = remade(main, ids=[f"later {row}" for row in range(len(main))])
    assert np.isfinite(found.apply(later)).all()


def test_the_order_of_rows_and_columns_changes_nothing_where_distances_are_tied(rng):
    """Whole numbers of four values: hundreds of rows are equally far from a row."""
    features, names = rng.integers(0, 4, (360, 6)).astype(float), np.array(list("abcdef"))
    truth = features[:, 0] - np.abs(features[:, 1] - 2) + rng.standard_normal(360)
    scores, ids = truth + 1.5 * rng.standard_normal(360), np.array([f"row {row}" for row in range(360)])
    common = [rng.choice(300, 80, replace=False) for _ in range(2)]
    others = [
        mf.Observations(truth[rows] + rng.standard_normal(80), ids=ids[rows], name=str(number))
        for number, rows in enumerate(common)
    ]
    later = mf.Observations(scores[300:], features[300:], ids=ids[300:], feature_names=names)
    labels = mf.RankLabels(ids[:60], truth[:60])
    found = []
    for rows, columns in ((np.arange(300), np.arange(6)), (rng.permutation(300), rng.permutation(6))):
        main = mf.Observations(
            scores[rows], features[rows][:, columns], ids=ids[rows], feature_names=names[columns], name="main"
        )
        result = mf.refine(main, others, labels, rng=0)
        assert result.fitted_model.joining is not None
        found.append(np.append(result.scores[np.argsort(rows)], result.apply(later)))
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


@pytest.mark.parametrize("exponent", [-960, -500, 500, 960])
@pytest.mark.parametrize("method", METHODS)
def test_powers_of_two_of_the_main_scores_come_back(case, plain, exponent, method):
    main = remade(case.main, predictions=np.ldexp(case.main.scores, exponent))
    found = refined(case, main, labelled=True, method=method)
    np.testing.assert_array_equal(np.ldexp(found.scores, -exponent), plain[method, True].scores)
    later, there = (remade(each, ids=[f"later {row}" for row in range(len(main))]) for each in (main, case.main))
    np.testing.assert_allclose(np.ldexp(found.apply(later), -exponent), plain[method, True].apply(there), rtol=1e-9)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_rows_columns_and_references_changes_nothing(case, plain, rng, method, labelled):
    names = [f"x{column}" for column in range(case.main.table.shape[1])]
    rows, columns = rng.permutation(len(case.main)), rng.permutation(len(names))
    named = pd.DataFrame(case.main.table, columns=names)

    def shuffled(table, rows, columns):
        frame = pd.DataFrame(table.table[rows][:, columns], columns=np.array(names)[columns])
        return remade(table, predictions=table.scores[rows], features=frame, ids=table.keys[rows])

    main = shuffled(case.main, rows, columns)
    references = [shuffled(each, rng.permutation(len(each)), columns) for each in reversed(case.references)]
    before, after = plain[method, labelled], refined(case, main, references, labelled=labelled, method=method)
    np.testing.assert_allclose(after.scores, before.scores[rows], atol=1e-4 * before.scores.std())
    np.testing.assert_allclose(after.weights, before.weights[::-1], atol=1e-4)
    ids = [f"later {row}" for row in range(len(case.main))]
    moved = [mf.Observations(case.main.scores, each, ids=ids) for each in (named + 0.01, named.to_numpy() + 0.01)]
    np.testing.assert_allclose(after.apply(moved[0]), before.apply(moved[1]), atol=1e-4 * before.scores.std())
