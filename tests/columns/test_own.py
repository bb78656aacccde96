"""Own scores, smoothed over the graph of the own features."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.backends.index import Index
from manifuse.backends.neighbours import Query
from manifuse.columns.edges import Edges, Joining
from manifuse.columns.own import SCALE, SURE, Smoothed, sureness
from manifuse.columns.view import Level, View
from manifuse.diffusion.setup import search_order
from manifuse.kernels.sphere import standardise
from manifuse.run.preparation import MOST_WORK
from manifuse.tables.classes import Classes


def test_a_later_row_takes_the_step_that_its_own_row_of_the_system_asks_for(rng):
    """One round by hand, from dense matrices."""
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    graph = mf.Host().graph(mf.Host().search(main.table, Query(20, True), np.random.default_rng(0)), 5)
    column = Smoothed.over(graph, standardise(main.scores)[:, None])
    values = column.fitted
    features, score = rng.standard_normal(2), 0.4
    scaled = (features - main.table.mean(axis=0)) / main.table.std(axis=0)
    squares = np.sum(((main.table - main.table.mean(axis=0)) / main.table.std(axis=0) - scaled) ** 2, axis=1)
    near = np.argsort(squares)[:5]
    own, fitted = (score - main.scores.mean()) / main.scores.std(), standardise(main.scores)
    affinity = graph.affinity(fitted, SCALE).matrix().toarray()
    inverse = np.linalg.inv(11.0 * np.eye(60) - 10.0 * affinity)
    smoothed, constant = inverse @ fitted, inverse @ np.ones(60)
    np.testing.assert_allclose(values[:, 0], standardise(smoothed / constant), atol=1e-6)
    widths = np.sqrt(2 * squares[near].mean() * graph.scales[near])
    weights = np.exp(-squares[near] / widths) * np.exp(-((own - fitted[near]) ** 2) / SCALE)
    weights /= np.sqrt(weights.sum() * graph.degrees(fitted, SCALE)[near])
    wanted = (own + 10.0 * weights @ smoothed[near]) / (1.0 + 10.0 * weights @ constant[near])
    averages = smoothed / constant
    index = Index.of(main.table, search_order(main), standardised=True, name="main")
    edges = Edges.of(features[None], index, Joining(5, graph.standardised, graph.scales))
    rows = View(features[None], {"own": np.array([[own]])}, np.empty((1, 0)), edges)
    assert column.add_to(rows, "smoothed")["smoothed"][0, 0] == pytest.approx(
        (wanted - averages.mean()) / averages.std(), abs=1e-6
    )


def test_a_level_has_one_deviation_for_all_numbers_of_a_row(rng):
    values = rng.standard_normal((50, 3)) * [1.0, 2.0, 3.0] + 5.0
    level = Level.of(values)
    applied = level.apply(values)
    np.testing.assert_allclose(applied.mean(axis=0), 0.0, atol=1e-12)
    assert np.sum(applied**2) == pytest.approx(150.0)
    np.testing.assert_array_equal(Level.of(np.ones((4, 2))).apply(np.ones((4, 2))), 0.0)
    huge = Level.of(values * 1e200)
    np.testing.assert_allclose(huge.apply(values * 1e200), applied, rtol=1e-9)


def test_by_default_a_graph_that_only_labels_want_is_searched_exactly():
    assert mf.Host().exact_work >= MOST_WORK


@pytest.mark.parametrize("labelled", [False, True])
def test_features_that_are_all_equal_are_no_reason_to_stop(labelled):
    case = draw(6, features=False)
    labels = case.labels() if labelled else None
    level = remade(case.main, features=np.ones((len(case.main), 2)))
    method = mf.JointDiffusion(same_target=True)
    result, bare = (mf.refine(main, case.references, labels, method, rng=0) for main in (level, case.main))
    assert result.accepted
    np.testing.assert_array_equal(result.predictions, bare.predictions)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_later_row_needs_the_features_that_the_fitted_rows_have(labelled):
    case = draw(3, rows=200, pairs=200)
    labels = case.labels() if labelled else None
    result = mf.refine(case.main, case.references, labels, mf.JointDiffusion(same_target=True), rng=0)
    assert result.accepted
    bare = mf.Observations(case.main.scores[:5], ids=[f"new {row}" for row in range(5)], name="later")
    with pytest.raises(mf.InputError, match="later came with 0 features"):
        result.apply(bare)


@pytest.mark.parametrize("count", [3, 5, 10])
def test_a_classifier_that_names_a_class_has_the_lead_of_one_hot_rows(count):
    """The log-ratios of k classes of equal size have the lead sqrt(k / 2), in their deviations."""
    classes = Classes(tuple("abcdefghij"[:count]))
    rows = classes.log_ratios(np.tile(4.0 * np.eye(count), (20, 1)))
    own = Level.of(rows).apply(rows)
    assert sureness(own, classes) == pytest.approx(np.sqrt(count / 2.0) / SURE)
    # A quarter of rows without a lead is not yet enough to be unsure; more than that is.
    own[: int(0.24 * len(own))] = 0.0
    assert sureness(own, classes) > 1.5
    own[: int(0.26 * len(own)) + 1] = 0.0
    assert sureness(own, classes) == 1.0


def test_normal_log_ratios_and_single_scores_are_not_sure(rng):
    assert sureness(rng.standard_normal((400, 4)), Classes(tuple("abcde"))) == 1.0
    hard = np.repeat([[-1.0], [1.0]], 50, axis=0)
    assert sureness(hard, Classes(("a", "b"))) == 1.0
    assert sureness(hard, None) == 1.0
