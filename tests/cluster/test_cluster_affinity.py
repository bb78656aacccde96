"""An affinity over workers does what one in memory does, and says little to this machine on the way."""

from __future__ import annotations

import numpy as np
import pytest

from manifuse.cluster.affinity import ClusterAffinity
from manifuse.cluster.connection import Connection
from manifuse.cluster.graph import ClusterGraph
from manifuse.cluster.parts import Parts
from manifuse.diffusion.graph import HostGraph
from manifuse.diffusion.neighbours import Neighbours
from manifuse.kernels.affinity import SparseAffinity
from manifuse.kernels.chebyshev import moments, smooth, spread
from manifuse.kernels.rows import in_order, inverse_order

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROWS = 90


class Watched(Connection):
    """A connection of so many threads that counts the tasks it starts, and does not wait where it is told not to."""

    def __init__(self, client, threads=3):
        super().__init__(client)
        self._count, self.started, self.silent = threads, 0, False

    def threads(self):
        return [super(Watched, self).threads()[number * 2 // self._count] for number in range(self._count)]

    def tasks(self):
        tasks = super().tasks()
        start = tasks.start

        def counted(wanted):
            self.started += len(tasks._graph)
            return start(wanted)

        tasks.start = counted
        return tasks

    def gather(self, futures):
        assert not self.silent
        return super().gather(futures)


@pytest.fixture
def connection(client):
    return Watched(client)


@pytest.fixture
def graph():
    """Neighbours on a ring: each block of rows has borders with two others."""
    steps = np.array([1, -1, 2, -2])
    indices = (np.arange(ROWS)[:, None] + steps) % ROWS
    return HostGraph.of(Neighbours(indices, np.tile(steps**2.0, (ROWS, 1)), 1.0, None), 4)


@pytest.fixture(params=[False, True], ids=["table's order", "other order"])
def pair(request, connection, graph, rng):
    """The same affinity here and over there, with weights of its own, as the graph has it or shuffled."""
    matrix = graph.affinity(rng.standard_normal(ROWS), 1.0).matrix()
    if not request.param:
        return SparseAffinity(matrix), ClusterAffinity(Parts.cut(connection, matrix), None)
    order = rng.permutation(ROWS)
    inside = in_order(matrix, order)
    return SparseAffinity(inside, order), ClusterAffinity(Parts.cut(connection, inside), order)


def test_blocks_enter_and_leave_unchanged(pair, rng):
    here, there = pair
    values = rng.standard_normal((ROWS, 3))
    np.testing.assert_array_equal(there.leave(there.enter(values)), values)
    np.testing.assert_array_equal(there.leave(there.zeros(2)), np.zeros((ROWS, 2)))
    np.testing.assert_array_equal(there.matrix().toarray(), here.matrix().toarray())
    assert there.shape == here.shape


def test_every_recurrence_comes_out_the_same_to_the_last_bit(pair, rng):
    here, there = pair
    values, rows = rng.standard_normal((ROWS, 2)), rng.permutation(ROWS)[:9]
    sources = rng.standard_normal((6, 9, 2))
    np.testing.assert_array_equal(smooth(there, values, [1.0, 30.0]), smooth(here, values, [1.0, 30.0]))
    np.testing.assert_array_equal(moments(there, values, rows, 8), moments(here, values, rows, 8))
    np.testing.assert_array_equal(spread(there, rows, sources), spread(here, rows, sources))


def test_sums_are_those_of_arrays_and_change_nothing_that_they_are_the_sums_of(pair, rng):
    _, there = pair
    first, second, rows = *rng.standard_normal((2, ROWS, 2)), rng.permutation(ROWS)[:7]
    one, other, more = there.enter(first), there.enter(second), rng.standard_normal((7, 2))
    total = np.float64(2.0) * one + other
    expected = 2.0 * first + second
    for _ in range(12):
        total += 0.5 * one
        expected = expected + 0.5 * first
    there.add(total, rows, more)
    expected[rows] += more
    total += total
    np.testing.assert_allclose(there.leave(total), 2 * expected, rtol=1e-14)
    kept = 1.0 * one
    there.add(one, rows, more)
    np.testing.assert_array_equal(there.take(one, rows), first[rows] + more)
    np.testing.assert_array_equal(there.leave(kept), first)
    np.testing.assert_array_equal(there.leave(other), second)
    step = there.recur(other, one, -2.0)
    expected = -2.0 * there.matrix() @ second - first
    expected[rows] -= more
    np.testing.assert_allclose(there.leave(step), expected, rtol=1e-12)


def test_a_recurrence_waits_for_nothing_and_sends_borders_only(connection, graph):
    there = ClusterAffinity(Parts.cut(connection, graph.affinity(np.zeros(ROWS), np.inf).matrix()), None)
    # Two rows on either side of each of the three blocks.
    for number, part in enumerate(there._parts):
        sizes = {owner: len(rows.result()) for owner, rows in part.borders if rows is not None}
        assert sizes == {owner: 2 for owner in range(3) if owner != number}
    previous, current = there.enter(np.ones((ROWS, 2))), there.zeros(2)
    before, connection.silent = connection.started, True
    for _ in range(10):
        previous, current = current, there.recur(previous, current, 1.0)
        taken = there.take(current, np.array([0, 50]))
    connection.silent = False
    there.leave(current)
    # For each product a task for each block and for each border; for each look at rows, one for each block of them.
    assert connection.started - before <= 10 * (3 + 6 + 2)
    assert np.asarray(taken).shape == (2, 2)


def test_every_graph_of_the_same_neighbours_is_the_same(connection, graph, rng):
    there = ClusterGraph(Parts.cut(connection, graph.weights), graph.scales, 4, None, graph.order)
    predictions = rng.standard_normal(ROWS)
    for scale in (0.1, np.inf):
        np.testing.assert_array_equal(there.degrees(predictions, scale), graph.degrees(predictions, scale))
        np.testing.assert_array_equal(
            there.affinity(predictions, scale).matrix().toarray(),
            graph.affinity(predictions, scale).matrix().toarray(),
        )
    np.testing.assert_array_equal(there.on_host().weights.toarray(), graph.weights.toarray())


@pytest.mark.parametrize("threads, parts", [(1, 1), (4, 4), (50, 9)])
def test_parts_are_as_many_as_threads_and_not_too_small(client, graph, threads, parts):
    cut = list(Parts.cut(Watched(client, threads), graph.weights))
    assert len(cut) == parts
    assert [row for part in cut for row in range(ROWS)[part.rows]] == list(range(ROWS))
    homes = [part.home for part in cut]
    assert homes == sorted(homes)


def test_a_table_in_an_order_of_its_own_is_the_same_graph(connection, graph, rng):
    order = rng.permutation(ROWS)
    inside = HostGraph(in_order(graph.weights, order), graph.scales, 4, None, order)
    there = ClusterGraph(Parts.cut(connection, inside.weights), inside.scales, 4, None, order)
    predictions = rng.standard_normal(ROWS)
    expected = graph.degrees(predictions, 0.5)
    np.testing.assert_allclose(there.degrees(predictions, 0.5), expected, rtol=1e-14)
    np.testing.assert_array_equal(inverse_order(order)[order], np.arange(ROWS))
