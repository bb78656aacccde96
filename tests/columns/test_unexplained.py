"""Rows of which the references say something that nothing else explains: who stands out, and who is named."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.columns.unexplained import FALSE, stand_out
from manifuse.words.findings import findings_of


def test_of_ordinary_rows_hardly_any_table_names_one(rng):
    """With normal values, whose tails are lighter than those that are allowed for."""
    named = [len(stand_out(rng.standard_normal((100, 1)))[0]) > 0 for _ in range(400)]
    assert np.mean(named) <= FALSE


@pytest.mark.parametrize("columns", [1, 3])
def test_rows_far_from_the_others_stand_out_the_farthest_first_in_any_unit(rng, columns):
    values = rng.standard_normal((60, columns))
    values[[7, 3, 40], -1] = 20.0, -30.0, 9.0
    rows, away = stand_out(values)
    np.testing.assert_array_equal(rows, [3, 7, 40])
    assert (away[[3, 7, 40], -1] * [-1, 1, 1] > 6).all()
    scaled, scaled_away = stand_out(5.0 - 1e6 * values)
    np.testing.assert_array_equal(scaled, rows)
    np.testing.assert_allclose(scaled_away, -away)


@pytest.mark.parametrize("values", [np.zeros((50, 1)), np.full((50, 2), 3.0), np.arange(9.0)[:, None] ** 9])
def test_where_nothing_is_known_of_what_is_ordinary_nobody_stands_out(values):
    assert not len(stand_out(values)[0])


@pytest.fixture(scope="module")
def honest():
    return draw(2, rows=400, pairs=100, references=3, noise=0.4)


@pytest.fixture(scope="module")
def lifted(honest):
    """The references give their highest score to the three lowest rows that all know."""
    known = [set(each.keys) & set(honest.main.keys) for each in honest.references]
    shared = np.flatnonzero(np.isin(honest.main.keys, list(set.intersection(*known))))
    low = honest.main.keys[shared[np.argsort(honest.main.scores[shared])[:3]]]

    def with_lifted(table):
        scores = np.where(np.isin(table.keys, low), table.scores.max(), table.scores)
        return remade(table, predictions=scores)

    return low, [with_lifted(each) for each in honest.references]


@pytest.mark.parametrize("labelled", [False, True])
def test_rows_that_references_lift_on_purpose_are_named(honest, lifted, labelled, tmp_path):
    low, references = lifted
    labels = honest.labels() if labelled else None
    result = mf.refine(honest.main, references, labels, rng=0)
    named = result.evidence.unexplained
    assert len(named) >= 2
    assert set(named) <= set(low)
    (finding,) = [each for each in findings_of(result.evidence, result.refined) if each.code == "unexplained"]
    assert finding.sentence.startswith(f"{len(named)} common rows moved far only because a reference says so of ")
    assert all(f"“{key}”" in finding.sentence for key in named)
    assert result.to_dict()["unexplained"] == list(named)
    assert any("moved far on what references say of it" in said for said in mf.explain(result, named[0]).sentences)
    mf.save(result, tmp_path / "model.npz")
    assert mf.load(tmp_path / "model.npz").evidence.unexplained == named


def test_honest_rows_and_rows_that_did_not_move_are_not_named(honest, lifted):
    assert mf.refine(honest.main, honest.references, rng=0).evidence.unexplained == ()
    refused = mf.refine(honest.main, lifted[1][:1], same_target=False, rng=0)
    assert not refused.accepted
    assert refused.evidence.unexplained == ()
