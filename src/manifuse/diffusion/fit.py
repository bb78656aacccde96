"""Fit: a diffusion that is done, ready for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from manifuse.backends.backend import StoredGraph
from manifuse.backends.host import Host
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.edges import Edges, smooth_later
from manifuse.diffusion.footprint import demand_memory_to_replay
from manifuse.diffusion.joint import Round, mixture, replay
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.own_smoothing import Smoothing, SmoothingSetting
from manifuse.diffusion.transport import Arrival, Transport
from manifuse.diffusion.units import Units
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved, read, write


@dataclass(frozen=True, eq=False)
class Fit(Saved):
    """A diffusion that is done.

    Off the pairs, a row of the implicit bridge is an average of its neighbours' rows. A later row takes the average of
    its nearest fitted rows, weighed as the graph weighs them. Coupled references are looked up by id.

    Attributes
    ----------
    main : Observations
    start : (n,) array
        What the first round began with, on the sphere.
    bridges : Bridges
        With the graph in this machine's memory.
    coefficients : (rounds, k) array
        What every round mixed; see `Path`.
    smoothing : Smoothing or None
        The main predictor over its own graph, which is the graph of the bridges if there are any.
    """

    main: Observations
    start: FloatArray
    bridges: Bridges
    coefficients: FloatArray
    smoothing: Smoothing | None

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds of it."""
        smoothing = self.smoothing
        graph = None if smoothing is None or self.bridges.anchors else write(smoothing.graph.stored())
        return {
            "main": self.main.to_record(),
            "start": self.start,
            "bridges": self.bridges.to_record(),
            "coefficients": self.coefficients,
            "smoothing": None if smoothing is None else write(smoothing.setting),
            "smoothing_graph": graph,
        }

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Read a saved fit; see `Saved.from_record`."""
        names = ("main", "start", "bridges", "coefficients", "smoothing", "smoothing_graph")
        if record.keys() != set(names):
            raise ValueError(f"a fit should have {', '.join(names)}, and no more")
        main = Observations.from_record(record["main"])
        setting = read(SmoothingSetting | None, record["smoothing"], "smoothing")
        bridges, smoothing, graph = Bridges.from_record(record["bridges"]), None, record["smoothing_graph"]
        if setting is not None:
            own = bridges.graph if graph is None else Host().restore(StoredGraph.from_record(graph))
            smoothing = Smoothing(main, own, setting)
            smoothing.check()
        start, mixed = (read(FloatArray, record[name], name) for name in ("start", "coefficients"))
        made = cls(main, start, bridges, mixed, smoothing)
        made.check()
        return made

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        rows, bridges = len(self.main), self.bridges
        smoothed = bool(bridges.anchors) and bridges.method.smoothing > 0
        columns = 1 + bridges.count + smoothed + bridges.method.anchored
        if self.start.shape != (rows,) or len(bridges.graph.scales) != rows:
            raise ValueError("the parts of the fit are about tables of different sizes")
        if self.coefficients.shape != (len(self.coefficients), columns):
            raise ValueError("the rounds mix other columns than there are")
        if not (np.isfinite(self.start).all() and np.isfinite(self.coefficients).all()):
            raise ValueError("the rounds are not finite")

    @cached_property
    def units(self) -> Units:
        """Units of the main predictor."""
        return Units.of(self.main.scores)

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """What every round worked on, computed again when it is first needed.

        Raises
        ------
        InputError
            If that does not fit into memory.
        """
        demand_memory_to_replay(self.bridges, len(self.main), len(self.coefficients))
        return replay(self.start, self.bridges, self.coefficients)

    def extend(self, new: Observations, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Diffuse later rows.

        Parameters
        ----------
        new : Observations
        own : (q,) array
            What they start with, in the units of ``start``.

        Returns
        -------
        predictions : (q,) array
            In the units of ``start``.
        row_sums : (q, m) array
            Pair evidence that arrives at each row.

        Raises
        ------
        InputError
            If the fitted rows had no features, or the rounds do not fit into memory.
        """
        edges = Edges.of(new, self.main, self.bridges.graph)
        *rounds, end = self.rounds
        current = own
        for each in rounds:
            arrived = each.arrival.columns(at=self._arrive(each, current, new, edges))
            current = mixture(current, arrived, own if self.bridges.method.anchored else None) @ each.coefficients
        return current, self._arrive(end, current, new, edges).references.row_sums

    def _arrive(self, each: Round, current: FloatArray, new: Observations, edges: Edges) -> Arrival:
        """What arrives at the later rows, which have the predictions ``current`` (q,)."""
        standardise, fitted = self.units.standardised_from_sphere, each.arrival
        affinity = edges.affinity(standardise(current), standardise(each.start), self.bridges.setting.score_scale)
        carried, row_sums = _average(fitted.references, affinity, edges)
        for number, lookup in self.bridges.lookups.items():
            carried[:, number], row_sums[:, number] = lookup.at(new.keys)
        smoothed = None
        if fitted.smoothed is not None:
            block, constant = _average(fitted.smoothed, affinity, edges)
            values = smooth_later(current[:, None], self.bridges.method.smoothing, block, constant)
            smoothed = Transport(values, constant, constant > 0)
        return Arrival(fitted.references.at_later_rows(carried, row_sums), smoothed)


def _average(transport: Transport, affinity: FloatArray, edges: Edges) -> tuple[FloatArray, FloatArray]:
    """Average what the fitted neighbours have, before division by row sums, and their row sums."""
    carried = edges.carry(affinity, transport.values * transport.row_sums)
    return carried, edges.carry(affinity, transport.row_sums)
