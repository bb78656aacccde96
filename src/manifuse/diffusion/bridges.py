"""Bridges: how the scores of all references reach the main table, under one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from manifuse.backends.graph import FeatureGraph, SparseGraph
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.algorithm1 import Algorithm1, Setting
from manifuse.diffusion.explicit_euler import ExplicitAnchor
from manifuse.diffusion.implicit_euler import ImplicitAnchor
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.transport import Arrival, Transport
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import standardise_prediction
from manifuse.tables.problem import Reference

#: Numbers of a block of right-hand sides while held-out pairs are predicted; more columns are done one after another.
HELD_OUT_NUMBERS = 1 << 22

#: The reference side of a bridge of either scheme.
AnyAnchor = ImplicitAnchor | ExplicitAnchor


@dataclass(frozen=True, eq=False)
class NeighbourTables:
    """The neighbour searches that bridges need, for the largest N among the candidates.

    Attributes
    ----------
    main : Neighbours or None
        None if the main table has no graph.
    references : tuple of Neighbours or None
        None for a coupled reference, and for one without features.
    """

    main: Neighbours | None
    references: tuple[Neighbours | None, ...]

    @classmethod
    def search(cls, setup: Setup, standardised: Sequence[bool], rng: np.random.Generator) -> NeighbourTables:
        """Search every table once.

        Parameters
        ----------
        setup : Setup
        standardised : sequence of bool
            Whether features are standardised: of the main table, then of every reference.
        rng : numpy.random.Generator
            Draws the samples on which the recall is measured.
        """
        references = tuple(
            None if each.is_looked_up else setup.search(each.table, standardised=flag, rng=rng)
            for each, flag in zip(setup.problem.references, standardised[1:], strict=True)
        )
        if not (setup.problem.bridged or setup.own_graph):
            return cls(None, references)
        return cls(setup.search(setup.problem.main, standardised=standardised[0], rng=rng), references)

    def standardised(self) -> tuple[bool | None, ...]:
        """Whether features were standardised: the main table, then the references; None without a search."""
        return tuple(None if table is None else table.standardised for table in (self.main, *self.references))

    def recall(self) -> tuple[float | None, ...]:
        """Share of the true neighbours found: the main table, then the references; None without a graph."""
        return tuple(None if table is None else table.recall for table in (self.main, *self.references))


@dataclass(frozen=True, eq=False)
class Bridges:
    """All references' bridges. Only the weights of the main table's graph change while the diffusion runs.

    Attributes
    ----------
    setting : Setting
    algorithm : Algorithm1
    graph : FeatureGraph
        The main table's; without edges if nothing needs it.
    anchors : mapping of int to Anchor
        The reference side of every bridge over the graph, by the number of the reference.
    known : mapping of int to array
        The scores (n,) or (n, c) of every main row that a coupled reference knows, likewise: the identity bridges.
    """

    setting: Setting
    algorithm: Algorithm1
    graph: SparseGraph | FeatureGraph
    anchors: Mapping[int, AnyAnchor]
    known: Mapping[int, FloatArray]

    @classmethod
    def build(cls, setup: Setup, settings: Sequence[Setting], tables: NeighbourTables) -> list[Bridges]:
        """Build the bridges of every setting; settings share graphs and reference sides where these are the same."""
        problem = setup.problem
        known = {
            number: reference.scores[locate(problem.main.keys, reference.table.keys)[0]]
            for number, reference in enumerate(problem.references)
            if reference.is_coupled
        }
        anchors: dict[Setting, dict[int, AnyAnchor]] = {setting: {} for setting in settings}
        for number, table in enumerate(tables.references):
            if number in problem.bridged:
                for setting, anchor in _anchors(setup, problem.references[number], table, settings).items():
                    anchors[setting][number] = anchor
        main = tables.main
        graphs = {
            count: SparseGraph.without_edges(len(problem.main)) if main is None else setup.backend.graph(main, count)
            for count in {setting.neighbours for setting in settings}
        }
        return [
            cls(setting, setup.algorithm, graphs[setting.neighbours], anchors[setting], known) for setting in settings
        ]

    def on_host(self) -> Bridges:
        """Return the same bridges with the graph in this machine's memory."""
        return replace(self, graph=self.graph.on_host())

    @property
    def count(self) -> int:
        """Number of references."""
        return len(self.anchors) + len(self.known)

    def arrive(self, predictions: FloatArray) -> Arrival:
        """Bring every reference to the main rows, over the graph that ``predictions`` (n, ...) weigh; smooth these."""
        blocks: list[FloatArray] = []
        smoothed, step = None, self.algorithm.smoothing
        if self.graph.neighbours:
            affinity = self._affinity(predictions)
            if step > 0:
                block = np.column_stack([predictions, np.ones(len(predictions))])
                smoothed = Transport.of_blocks(list(smooth(affinity, block, [step])), predictions.shape)
            if self.anchors:
                blocks = self.setting.bridge.carry(affinity, list(self.anchors.values()), predictions)
            # What follows needs the memory of the affinity, and then that of the blocks.
            del affinity
        shape = predictions.shape
        carried, row_sums = np.empty((*shape, self.count)), np.ones((len(predictions), self.count))
        for number, scores in self.known.items():
            carried[..., number] = scores
        for number in reversed(list(self.anchors)):
            block = blocks.pop()
            carried[..., number], row_sums[:, number] = block[:, :-1].reshape(shape), block[:, -1]
        return Arrival(Transport.of(carried, row_sums), smoothed)

    def predict_held_out(self, predictions: FloatArray, folds: Sequence[IndexArray]) -> dict[int, FloatArray]:
        """Predict the scores of bridged references at every pair, by a bridge built without that pair's fold.

        Parameters
        ----------
        predictions : (n,) or (n, c) array
        folds : sequence of (p,) arrays of int
            The fold of each pair of every reference.

        Returns
        -------
        dict
            For the number of every bridged reference, an array (p,) or (p, c).
        """
        if not self.anchors:
            return {}
        affinity = self._affinity(predictions)
        tasks = [
            (number, anchor, fold) for number, anchor in self.anchors.items() for fold in np.unique(folds[number])
        ]
        held_out: dict[int, FloatArray] = {
            number: np.zeros((len(folds[number]), *predictions.shape[1:])) for number in self.anchors
        }
        at_once = max(1, HELD_OUT_NUMBERS // (predictions.size + len(predictions)))
        for first in range(0, len(tasks), at_once):
            batch = tasks[first : first + at_once]
            omitted = [anchor.without(np.flatnonzero(folds[number] == fold)) for number, anchor, fold in batch]
            blocks = self.setting.bridge.carry(affinity, omitted, predictions)
            arrived = Transport.of_blocks(blocks, predictions.shape)
            for column, (number, anchor, fold) in enumerate(batch):
                here = folds[number] == fold
                held_out[number][here] = arrived.values[anchor.main_rows[here], ..., column]
        return held_out

    def _affinity(self, predictions: FloatArray) -> Affinity:
        """Affinity of the main table's graph, weighed by ``predictions``."""
        return self.graph.affinity(standardise_prediction(predictions), self.setting.score_scale)


def _anchors(
    setup: Setup, reference: Reference, table: Neighbours | None, settings: Sequence[Setting]
) -> dict[Setting, AnyAnchor]:
    """The reference's side of the bridge under every setting; what settings have in common is computed once.

    Schemes of one kind share the anchor of the deepest. A reference without features has a graph without edges.
    """
    scores, rows = reference.scores, (reference.main_rows, reference.reference_rows)
    block = np.column_stack([scores, np.ones(len(scores))])
    deepest = {type(each.bridge): each.bridge for each in sorted(settings, key=lambda setting: setting.bridge.depth)}
    anchors: dict[Setting, AnyAnchor] = {}
    for count in {each.neighbours for each in settings}:
        graph = SparseGraph.without_edges(len(scores)) if table is None else setup.backend.graph(table, count)
        for scale in {each.score_scale for each in settings}:
            affinity = graph.affinity(scores, scale)
            made = {kind: scheme.anchor(affinity, block, *rows) for kind, scheme in deepest.items()}
            same = (each for each in settings if (each.neighbours, each.score_scale) == (count, scale))
            anchors |= {each: made[type(each.bridge)] for each in same}
    return anchors
