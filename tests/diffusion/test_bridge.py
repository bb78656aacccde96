"""Bridges against dense computations, and the properties that they must preserve."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.linalg import solve_sylvester

import manifuse as mf
from manifuse.backends.graph import SparseAffinity
from manifuse.backends.neighbours import Query
from manifuse.diffusion.explicit_euler import ExplicitEuler
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.diffusion.transport import Transport
from manifuse.kernels.sphere import standardise


def graph_affinity(rng, rows, scale=0.5):
    features = rng.standard_normal((rows, 3))
    graph = mf.Host().graph(mf.Host().search(features, Query(5, True), rng), 5)
    return graph.affinity(standardise(features[:, 0]), scale)


def transport(scheme, main, anchors, towards):
    """What a scheme carries over to the main rows."""
    return Transport.of_blocks(scheme.carry(main, anchors, towards), towards.shape)


@pytest.fixture
def sides(rng):
    main, reference = graph_affinity(rng, 80), graph_affinity(rng, 60)
    return main, reference, np.sort(rng.permutation(80)[:15]), rng.permutation(60)[:15]


def dense_bridge(scheme, sides, towards):
    main, reference, main_rows, reference_rows = sides
    anchor = scheme.anchor(reference, np.eye(60), main_rows, reference_rows)
    return scheme.carry(main, [anchor], towards)[0]


def labels_of(sides):
    labels = np.zeros((80, 60))
    labels[sides[2], sides[3]] = 1.0
    return labels


@pytest.mark.parametrize("step", [0.1, 1.0, 10.0, 100.0])
def test_the_implicit_bridge_equals_the_dense_solution(step, sides, rng):
    main, reference, *_ = sides
    exact = solve_sylvester(
        np.eye(80) + step * (np.eye(80) - main.matrix().toarray()),
        step * (np.eye(60) - reference.matrix().toarray()),
        labels_of(sides),
    )
    found = dense_bridge(ImplicitEuler(step), sides, rng.standard_normal(80))
    assert np.linalg.norm(found - exact) <= 1e-6 * np.linalg.norm(exact)


def test_bridges_are_linear_and_their_rows_are_averages(sides, rng):
    main, reference, main_rows, reference_rows = sides
    g = rng.uniform(2.0, 3.0, 60)
    for scheme in (ImplicitEuler(10.0), ExplicitEuler(step=0.5, steps=4, keep=5)):
        anchor = scheme.anchor(reference, np.column_stack([g, np.ones(60)]), main_rows, reference_rows)
        arrived = transport(scheme, main, [anchor], rng.standard_normal(80))
        assert arrived.reached.any()
        assert arrived.values.min() >= 2.0 - 1e-4
        assert arrived.values.max() <= 3.0 + 1e-4
        constant = scheme.anchor(reference, np.ones((60, 2)), main_rows, reference_rows)
        np.testing.assert_allclose(transport(scheme, main, [constant], g[:1].repeat(80)).values, 1.0, atol=1e-9)


def test_implicit_and_explicit_agree_as_the_step_shrinks(sides, rng):
    # To first order in the step both are B(0) - step (L_f B(0) + B(0) L_k).
    main, reference, *_ = sides
    labels = labels_of(sides)
    towards = rng.standard_normal(80)
    for step in (1e-2, 1e-3, 1e-4):
        implicit = dense_bridge(ImplicitEuler(step, tolerance=1e-10), sides, towards)
        start = sparse.csr_array(labels)
        explicit = ExplicitEuler(step=step, keep=1000).advance(start, main.matrix(), reference.matrix()).toarray()
        sums = implicit.sum(axis=1, keepdims=True)
        normalised = implicit / np.where(sums > 0, sums, 1.0)
        paired = sides[2]
        assert np.abs(normalised - explicit)[paired].max() <= 20 * step**2


def test_the_explicit_scheme_is_the_plain_loop(sides, rng):
    main, reference = (side.matrix() for side in sides[:2])
    step, keep = 0.3, 4

    def top(matrix):
        rank = np.argsort(np.argsort(-matrix, axis=1, kind="stable"), axis=1)
        return np.where(rank < keep, matrix, 0.0)

    B = labels_of(sides)
    sparse_bridge = sparse.csr_array(B)
    for _ in range(5):
        B = top(B - step * (B - main @ B))
        B = top(B - step * (B - B @ reference))
        sums = B.sum(axis=1, keepdims=True)
        B = B / np.where(sums > 0, sums, 1.0)
        sparse_bridge = ExplicitEuler(step=step, keep=keep).advance(sparse_bridge, main, reference)
        np.testing.assert_allclose(sparse_bridge.toarray(), B, atol=1e-12)
    assert np.diff(sparse_bridge.indptr).max() <= keep


@pytest.mark.parametrize("scheme", [ImplicitEuler(5.0, steps=6), ExplicitEuler(step=0.2, steps=6)])
def test_steps_are_taken_while_the_alignment_rises_and_no_further(scheme, sides):
    main, reference, main_rows, reference_rows = sides
    climbed = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        block = np.column_stack([rng.standard_normal(60), np.ones(60)])
        towards = rng.standard_normal(80)

        def after(steps, block=block, towards=towards):
            """What arrives after exactly so many steps, computed with dense matrices."""
            B = labels_of(sides)
            if isinstance(scheme, ImplicitEuler):
                for _ in range(steps):
                    left = np.eye(80) + 5.0 * (np.eye(80) - main.matrix().toarray())
                    B = solve_sylvester(left, 5.0 * (np.eye(60) - reference.matrix().toarray()), B)
            else:
                current = sparse.csr_array(B)
                for _ in range(steps):
                    current = scheme.advance(current, main.matrix(), reference.matrix())
                B = current.toarray()
            return Transport.of((B @ block)[:, :1], (B @ block)[:, 1:]).values[:, 0]

        heights = [np.corrcoef(after(steps), towards)[0, 1] ** 2 for steps in range(1, 7)]
        stop = next((k for k in range(1, 6) if heights[k] <= heights[k - 1]), 6)
        climbed.add(stop)
        anchor = scheme.anchor(reference, block, main_rows, reference_rows)
        found = transport(scheme, main, [anchor], towards).values[:, 0]
        np.testing.assert_allclose(found, after(stop), atol=1e-4)
    assert len(climbed) > 1


def test_several_implicit_steps_are_powers_of_one(sides, rng):
    main, reference, *_ = sides
    here = np.eye(80) + 2.0 * (np.eye(80) - main.matrix().toarray())
    there = 2.0 * (np.eye(60) - reference.matrix().toarray())
    twice = solve_sylvester(here, there, solve_sylvester(here, there, labels_of(sides)))
    scheme = ImplicitEuler(2.0)
    anchor = ImplicitEuler(2.0, steps=2).anchor(reference, np.eye(60), sides[2], sides[3])
    found = scheme._solve(main, [anchor], power=2)[0]
    assert np.linalg.norm(found - twice) <= 1e-6 * np.linalg.norm(twice)


@pytest.mark.parametrize("scheme", [ImplicitEuler(10.0), ExplicitEuler(step=0.5)])
def test_held_out_pairs_leave_no_trace(scheme, sides, rng):
    main, reference, main_rows, reference_rows = sides
    block, towards = np.column_stack([rng.standard_normal(60), np.ones(60)]), rng.standard_normal(80)
    out = np.array([2, 7])
    kept = np.delete(np.arange(15), out)
    all_pairs = scheme.anchor(reference, block, main_rows, reference_rows)
    fewer = scheme.anchor(reference, block, main_rows[kept], reference_rows[kept])
    without = scheme.carry(main, [all_pairs.without(out)], towards)[0]
    np.testing.assert_allclose(without, scheme.carry(main, [fewer], towards)[0], atol=1e-12)


@pytest.mark.parametrize("scheme", [ImplicitEuler(10.0), ExplicitEuler()])
def test_rows_out_of_reach_are_neutral_and_counted(scheme, rng):
    blob = graph_affinity(rng, 40)
    main = SparseAffinity(sparse.csr_array(sparse.block_diag([blob.matrix(), blob.matrix()])))
    reference = graph_affinity(rng, 60)
    block = np.column_stack([rng.standard_normal(60), np.ones(60)])
    anchor = scheme.anchor(reference, block, np.arange(10), np.arange(10))
    arrived = transport(scheme, main, [anchor], rng.standard_normal(80))
    assert not arrived.reached[40:].any()
    assert arrived.reached[:10].all()
    assert np.isfinite(arrived.values).all()
    inside = arrived.values[arrived.reached[:, 0], 0]
    np.testing.assert_allclose(arrived.values[40:, 0], inside.mean())
    np.testing.assert_allclose(arrived.project(arrived.values)[40:, 0], 0.0, atol=1e-12)


def test_a_bridge_that_reaches_nothing_is_neutral_everywhere():
    nothing = Transport.of(np.zeros((5, 1)), np.zeros((5, 1)))
    assert not nothing.reached.any()
    np.testing.assert_array_equal(nothing.values, 0.0)
    np.testing.assert_array_equal(nothing.project(nothing.values), 0.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ImplicitEuler(0.0),
        lambda: ImplicitEuler(1e9),
        lambda: ImplicitEuler(steps=1.5),
        lambda: ExplicitEuler(keep=2.5),
        lambda: ExplicitEuler(steps=1001),
        lambda: BridgeScheme.from_record(ExplicitEuler().to_record() | {"steps": 1001}),
        lambda: ImplicitEuler(steps=0),
        lambda: ExplicitEuler(step=1.5),
        lambda: ExplicitEuler(keep=0),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(mf.InputError, match="expected"):
        make()
