"""Bridges: the bridges of all references to one main table, under one setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifuse.diffusion.bridge import Anchor, Transport, transport
from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.method import JointDiffusion, Setting, choices
from manifuse.diffusion.problem import Problem
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import standardise


@dataclass(frozen=True, eq=False)
class NeighbourTables:
    """Neighbour searches of all tables that need one, for the largest N among the candidates.

    Attributes
    ----------
    main : Neighbours or None
        None where every reference is coupled.
    references : tuple of Neighbours or None
        None for a coupled reference.
    """

    main: Neighbours | None
    references: tuple[Neighbours | None, ...]

    def standardised(self) -> tuple[bool | None, ...]:
        """Whether features were standardised: the main table, then the references; None without a graph."""
        return tuple(None if table is None else table.standardised for table in (self.main, *self.references))

    @classmethod
    def search(
        cls,
        problem: Problem,
        method: JointDiffusion,
        *,
        main: Neighbours | None = None,
        standardised: bool,
        rng: np.random.Generator,
    ) -> NeighbourTables:
        """Search every table once; ``main`` is the main table's search, if it was made before."""
        count = max(choices(method.neighbours))

        def search(features: FloatArray | None, name: str) -> Neighbours | None:
            if features is None:
                return None
            return Neighbours.of(features, count, name=name, standardised=standardised, search=method.search, rng=rng)

        references = tuple(search(reference.features, reference.name) for reference in problem.references)
        needed = any(table is not None for table in references)
        if needed and main is None:
            main = search(problem.main.table, problem.main.name)
        return cls(main if needed else None, references)


@dataclass(frozen=True, eq=False)
class Bridges:
    """All references' bridges; only the main side's weights change while the diffusion runs.

    Attributes
    ----------
    problem : Problem
    setting : Setting
    tables : NeighbourTables
    graph : FeatureGraph or None
        The main table's; None where every reference is coupled.
    anchors : tuple of (int, Anchor)
        Place among the references and reference side, for those that are not coupled.
    """

    problem: Problem
    setting: Setting
    tables: NeighbourTables
    graph: FeatureGraph | None
    anchors: tuple[tuple[int, Anchor], ...]

    @classmethod
    def build(cls, problem: Problem, setting: Setting, tables: NeighbourTables) -> Bridges:
        """Build the graphs and the reference sides."""
        anchors: list[tuple[int, Anchor]] = []
        for place, (reference, table) in enumerate(zip(problem.references, tables.references, strict=True)):
            if table is not None:
                side = FeatureGraph.of(table, setting.neighbours)
                block = np.column_stack([reference.scores, np.ones(len(reference.scores))])
                affinity = side.affinity(reference.scores, setting.score_scale)
                anchor = setting.bridge.anchor(affinity, block, reference.main_rows, reference.reference_rows)
                anchors.append((place, anchor))
        graph = None if tables.main is None else FeatureGraph.of(tables.main, setting.neighbours)
        return cls(problem, setting, tables, graph, tuple(anchors))

    def affinity(self, predictions: FloatArray) -> SparseMatrix:
        """Affinity of the main table, re-weighted by ``predictions`` (n,)."""
        assert self.graph is not None, "only decoupled references ask for an affinity"
        return self.graph.affinity(standardise(predictions), self.setting.score_scale)

    def smooth(self, predictions: FloatArray, step: float) -> Transport | None:
        """Smooth ``predictions`` over the graph they weigh, as a reference that all rows are paired with.

        Returns None where there is no graph or ``step`` is 0.
        """
        if self.graph is None or step == 0:
            return None
        block = np.column_stack([predictions, np.ones(len(predictions))])
        (smoothed,) = smooth(self.affinity(predictions), block, [step])
        return Transport.of(smoothed[:, :1], smoothed[:, 1:])

    def transport(self, predictions: FloatArray) -> Transport:
        """Bring every reference to the main rows, given the current ``predictions`` (n,)."""
        shape = (len(predictions), len(self.problem.references))
        carried, row_sums = np.empty(shape), np.ones(shape)
        for place, reference in enumerate(self.problem.references):
            if reference.is_coupled:
                carried[reference.main_rows, place] = reference.paired_scores()
        for (place, _), block in zip(self.anchors, self._carry(predictions), strict=True):
            carried[:, place], row_sums[:, place] = block[:, 0], block[:, -1]
        return Transport.of(carried, row_sums)

    def predict_held_out(self, predictions: FloatArray, folds: Sequence[IndexArray]) -> dict[int, FloatArray]:
        """Reference scores at every pair, carried by a bridge that was not given that pair.

        Parameters
        ----------
        predictions : (n,) array
        folds : sequence of (p,) arrays of int
            For every reference, the fold of each of its pairs.

        Returns
        -------
        dict
            For the place of every reference that is not coupled, an array (p,).
        """
        if not self.anchors:
            return {}
        tasks = [(place, anchor, fold) for place, anchor in self.anchors for fold in np.unique(folds[place])]
        omitted = [anchor.without(np.flatnonzero(folds[place] == fold)) for place, anchor, fold in tasks]
        arrived: Any = transport(self.setting.bridge, self.affinity(predictions), omitted, predictions)
        held_out: dict[int, FloatArray] = {place: np.zeros(len(folds[place])) for place, _ in self.anchors}
        for column, (place, _, fold) in enumerate(tasks):
            here = folds[place] == fold
            held_out[place][here] = arrived.values[self.problem.references[place].main_rows[here], column]
        return held_out

    def _carry(self, predictions: FloatArray) -> list[FloatArray]:
        if not self.anchors:
            return []
        sides = [anchor for _, anchor in self.anchors]
        return self.setting.bridge.carry(self.affinity(predictions), sides, predictions)
