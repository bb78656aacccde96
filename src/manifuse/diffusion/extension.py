"""Rows that come later: every round of the diffusion, repeated for them through their neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from manifuse.backends.host import Host, HostGraph
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.edges import Edges
from manifuse.diffusion.joint import Round
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.diffusion.problem import locate
from manifuse.diffusion.schemes import REACHED, Transport
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Lookup:
    """A coupled reference: keys (n_k,) and standardised scores (n_k,)."""

    keys: NDArray[np.str_]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class Extension:
    """A fitted diffusion, ready for new rows of the main table.

    Off the pairs, a row of the implicit bridge is an average of its neighbours' rows; a new row takes the
    average over its nearest fitted rows, weighed as the graph weighs them. References that were coupled are
    looked up by id.

    Attributes
    ----------
    main : Observations
    graph : HostGraph or None
        Of the main rows; None where every reference was coupled.
    score_scale : float
        ``sigma_f^2``.
    offset, scale : float
        What the sphere is left by.
    lookups : tuple of Lookup or None
        For every reference; None where a bridge carries it.
    rounds : tuple of Round
    end : Round
        What a further round would have begun with; tells how much evidence arrives where.
    presmoothing : Presmoothing or None
    smoothing : float
    anchored : bool
    """

    main: Observations
    graph: HostGraph | None
    score_scale: float
    offset: float
    scale: float
    lookups: tuple[Lookup | None, ...]
    rounds: tuple[Round, ...]
    end: Round
    presmoothing: Presmoothing | None
    smoothing: float
    anchored: bool

    @classmethod
    def of(
        cls,
        bridges: Bridges,
        lookups: tuple[Lookup | None, ...],
        rounds: tuple[Round, ...],
        presmoothing: Presmoothing | None,
        method: JointDiffusion,
    ) -> Extension:
        """Keep what later rows need of a fit.

        Parameters
        ----------
        bridges : Bridges
            On this machine.
        lookups : tuple of Lookup or None
        rounds : tuple of Round
            As `Path` has them.
        presmoothing : Presmoothing or None
        method : JointDiffusion
        """
        problem = bridges.problem
        return cls(
            main=problem.main,
            graph=None if bridges.graph is None else Host().restore(bridges.graph.stored()),
            score_scale=bridges.setting.score_scale,
            offset=problem.offset,
            scale=problem.scale,
            lookups=lookups,
            rounds=rounds[:-1],
            end=rounds[-1],
            presmoothing=presmoothing,
            smoothing=method.smoothing,
            anchored=method.anchored,
        )

    def extend(self, new: Observations) -> tuple[FloatArray, FloatArray]:
        """Refine new rows.

        Returns
        -------
        predictions : (q,) array
            In units of the main predictor.
        row_sums : (q, m) array
            Pair evidence that arrives at each row.

        Raises
        ------
        InputError
            If the new rows have other features than the fitted ones.
        """
        own: FloatArray = (
            (new.scores - self.offset) / self.scale
            if self.presmoothing is None
            else self.presmoothing.extend(new) / np.sqrt(len(self.main))
        )
        edges = None if self.graph is None else Edges.of(new, self.main, self.graph)
        current = own
        for turn in self.rounds:
            affinity = None if edges is None else self._affinity(turn, current, edges)
            references, _ = self._arrive(new, turn, affinity, edges)
            smoothed = self._smooth(turn, current, affinity, edges)
            others = (references, smoothed, own if self.anchored else None)
            current = np.column_stack([current, *(each for each in others if each is not None)]) @ turn.coefficients
        affinity = None if edges is None else self._affinity(self.end, current, edges)
        return self.offset + self.scale * current, self._arrive(new, self.end, affinity, edges)[1]

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
        for place, lookup in enumerate(self.lookups):
            if lookup is not None:
                rows, known = locate(new.keys, lookup.keys)
                row_sums[:, place] = known
                carried[:, place] = np.where(known, lookup.scores[rows], 0.0)
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
        # On the sphere a standardised score is the score times the root of n.
        root = np.sqrt(len(turn.start))
        return edges.affinity(current * root, turn.start * root, self.score_scale)


def _average(transport: Transport, affinity: FloatArray, edges: Edges) -> tuple[FloatArray, FloatArray]:
    """What neighbours hold, before division by row sums, and their row sums, averaged by affinity."""
    carried = edges.carry(affinity, transport.values * transport.row_sums)
    return carried, edges.carry(affinity, transport.row_sums)
