"""Rows that come later: every round of the diffusion, repeated for them through their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.diffusion.bridge import REACHED, Transport
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import Round, columns_of
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import locate
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import feature_weights, local_scales, prediction_weights
from manifuse.kernels.sphere import is_constant, standardise


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from new rows to their nearest fitted rows: indices and feature weights, both (q, N)."""

    indices: IndexArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Extension:
    """A fitted diffusion, ready for new rows of the main table.

    Off the pairs, a row of the implicit bridge is an average of its neighbours' rows; a new row takes the
    average over its nearest fitted rows, weighed as the graph weighs them. References that were coupled are
    looked up by id.

    Attributes
    ----------
    bridges : Bridges
    references : tuple of Observations
    rounds : tuple of Round
    smoothing : float
    anchored : bool
    """

    bridges: Bridges
    references: tuple[Observations, ...]
    rounds: tuple[Round, ...]
    smoothing: float
    anchored: bool

    def extend(self, new: Observations) -> tuple[FloatArray, FloatArray]:
        """Refine new rows.

        Returns
        -------
        predictions : (q,) array
            On the sphere of the fit.
        row_sums : (q, m) array
            Pair evidence that arrives at each row.

        Raises
        ------
        InputError
            If the new rows have other features than the fitted ones.
        """
        problem = self.bridges.problem
        own = (new.scores - problem.offset) / problem.scale
        edges = None if self.bridges.graph is None else self._connect(new)
        current: FloatArray = own
        row_sums: FloatArray = np.zeros((len(new), len(problem.references)))
        for turn in self.rounds:
            affinity = None if edges is None else self._affinity(turn, current, edges)
            references, row_sums = self._arrive(new, turn, affinity, edges)
            current = (
                columns_of(
                    current,
                    references,
                    self._smooth(turn, current, affinity, edges),
                    own if self.anchored else None,
                )
                @ turn.coefficients
            )
        return current, row_sums

    def _connect(self, new: Observations) -> Edges:
        """Find the nearest fitted rows of every new row."""
        graph, searched, main = self.bridges.graph, self.bridges.tables.main, self.bridges.problem.main
        assert graph is not None, "asked for only where there is a graph"
        assert searched is not None, "a graph is made of neighbours"
        assert main.table is not None, "a graph is made of features"
        if new.table is None or new.table.shape[1] != main.table.shape[1]:
            came = 0 if new.table is None else new.table.shape[1]
            raise InputError(
                f"{new.name} came with {came} features, but {main.name} was fitted with {main.table.shape[1]}; "
                "give the same columns."
            )
        table: FloatArray = new.table - main.table.mean(axis=0)
        if searched.standardised:
            table = table / np.where(is_constant(main.table), np.inf, main.table.std(axis=0))
        count = min(self.bridges.setting.neighbours, len(main))
        search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(searched.features)
        distances, indices = search.kneighbors(table)
        squares = distances**2
        return Edges(indices, feature_weights(squares, local_scales(squares)[:, None], graph.scales[indices]))

    def _arrive(
        self, new: Observations, turn: Round, affinity: FloatArray | None, edges: Edges | None
    ) -> tuple[FloatArray, FloatArray]:
        """References at the new rows, on the sphere and neutral where none arrive, and their row sums."""
        transport = turn.transport
        neutral = transport.values.mean(axis=0)
        carried: FloatArray = np.zeros((len(new), len(neutral)))
        row_sums: FloatArray = np.zeros((len(new), len(neutral)))
        if affinity is not None and edges is not None:
            carried, row_sums = _average(transport, affinity, edges)
        for place, reference in enumerate(self.bridges.problem.references):
            if reference.is_coupled:
                rows, known = locate(new.keys, self.references[place].keys)
                row_sums[:, place] = known
                carried[:, place] = np.where(known, reference.scores[rows], 0.0)
        reached = (row_sums > 0) & (row_sums >= REACHED * transport.row_sums.max(axis=0))
        values = np.where(reached, carried / np.where(reached, row_sums, 1.0), neutral)
        return transport.project(values), np.where(reached, row_sums, 0.0)

    def _smooth(
        self, turn: Round, current: FloatArray, affinity: FloatArray | None, edges: Edges | None
    ) -> FloatArray | None:
        """The current prediction of the new rows, smoothed with that of their neighbours, on the sphere."""
        if turn.smoothed is None or affinity is None or edges is None:
            return None
        carried, row_sums = _average(turn.smoothed, affinity, edges)
        # A row of (I + step Laplacian) s = f, solved for its own entry; likewise for the constant.
        smoothed = current[:, None] + self.smoothing * carried
        return turn.smoothed.project(smoothed / (1.0 + self.smoothing * row_sums))

    def _affinity(self, turn: Round, current: FloatArray, edges: Edges) -> FloatArray:
        """Normalised affinity (eq. 14) of new rows to their fitted neighbours, shape (q, N)."""
        graph, scale = self.bridges.graph, self.bridges.setting.score_scale
        assert graph is not None, "there are edges only where there is a graph"
        # On the sphere a standardised score is the score times the root of n.
        differences = (current[:, None] - turn.start[edges.indices]) * np.sqrt(len(turn.start))
        weights = edges.weights * prediction_weights(differences, scale)
        own = weights.sum(axis=1, keepdims=True)
        theirs = graph.degrees(standardise(turn.start), scale)[edges.indices]
        roots = np.sqrt(own * theirs)
        return np.asarray(np.divide(weights, roots, out=np.zeros_like(weights), where=roots > 0))


def _average(transport: Transport, affinity: FloatArray, edges: Edges) -> tuple[FloatArray, FloatArray]:
    """What neighbours hold, before division by row sums, and their row sums, averaged by affinity."""
    masses = transport.values * transport.row_sums
    carried = np.einsum("qN,qNm->qm", affinity, masses[edges.indices])
    return carried, np.einsum("qN,qNm->qm", affinity, transport.row_sums[edges.indices])
