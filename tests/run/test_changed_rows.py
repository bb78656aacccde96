"""Rows that come again: small changes beside far larger numbers are seen, and rounding is not."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf


def again(result, row, *, score=None, features=None, key=None):
    """A fitted row as it comes again."""
    main = result.main
    one = np.array([main.came[row] if score is None else score])
    table = np.array([main.table[row] if features is None else features])
    return mf.Observations(one, table, ids=[key or main.keys[row]], name="again")


@pytest.mark.parametrize("place", ["score", "feature"])
def test_a_change_that_is_small_beside_far_larger_numbers_is_seen(place):
    case = draw(0)
    scores, table = case.main.scores, np.array(case.main.table)
    if place == "score":
        scores = 10.0 ** (10.0 * scores)
    else:
        table[7, 0] = 1e12
    main = mf.Observations(scores, table, ids=case.main.keys, name="main")
    with pytest.warns(mf.ManifuseWarning, match="far from the rest"):
        result = mf.refine(main, case.references, rng=0)
    # No reference knows this row, so that it is refined as one with another id is.
    known = np.concatenate([each.keys for each in case.references])
    row = int(next(each for each in np.argsort(scores) if main.keys[each] not in known))
    changed = (
        {"score": np.quantile(scores, 0.6)}
        if place == "score"
        else {"features": table[row] + (np.arange(table.shape[1]) == 0)}
    )
    with pytest.warns(mf.ManifuseWarning, match="refined anew"):
        refined = result.apply(again(result, row, **changed))
    assert refined != result.predictions[row]
    np.testing.assert_array_equal(refined, result.apply(again(result, row, **changed, key="new")))


def test_rounding_is_no_change(rng):
    case = draw(0)
    table = np.array(case.main.table)
    table[:, 0] = np.where(rng.random(len(table)) < 0.9, 0.0, table[:, 0])
    main = mf.Observations(case.main.scores, table, ids=case.main.keys, name="main")
    result = mf.refine(main, case.references, rng=0)
    rounded = remade(main, predictions=main.scores * (1.0 + 1e-14), features=table + 1e-14)
    np.testing.assert_array_equal(result.apply(rounded), result.predictions)
