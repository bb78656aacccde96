"""Fit: a diffusion that is done, ready for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from manifuse.backends.backend import FeatureGraph
from manifuse.backends.index import Index
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.edges import Edges, smooth_later
from manifuse.diffusion.footprint import demand_memory_to_replay
from manifuse.diffusion.joint import Round, mixture, replay
from manifuse.diffusion.later_rows import LaterRows
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.own_smoothing import Smoothing, SmoothingSetting
from manifuse.diffusion.transport import Arrival, Transport
from manifuse.diffusion.units import Units
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import is_constant
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
        The main predictor over the graph of the bridges.
    """

    main: Observations
    start: FloatArray
    bridges: Bridges
    coefficients: FloatArray
    smoothing: Smoothing | None

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds of it."""
        return {
            "main": self.main.to_record(),
            "start": self.start,
            "bridges": self.bridges.to_record(),
            "coefficients": self.coefficients,
            "smoothing": None if self.smoothing is None else write(self.smoothing.setting),
        }

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Read a saved fit; see `Saved.from_record`."""
        names = ("main", "start", "bridges", "coefficients", "smoothing")
        if record.keys() != set(names):
            raise ValueError(f"a fit should have {', '.join(names)}, and no more")
        main = Observations.from_record(record["main"])
        setting = read(SmoothingSetting | None, record["smoothing"], "smoothing")
        bridges, smoothing = Bridges.from_record(record["bridges"]), None
        if setting is not None:
            smoothing = Smoothing(main, bridges.graph, setting)
            smoothing.check()
        start, mixed = (read(FloatArray, record[name], name) for name in ("start", "coefficients"))
        made = cls(main, start, bridges, mixed, smoothing)
        made.check()
        return made

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        rows, bridges = len(self.main), self.bridges
        smoothed = bridges.graph.neighbours > 0 and bridges.method.smoothing > 0
        columns = 1 + bridges.count + smoothed + bridges.method.anchored
        if self.start.shape != (rows,) or len(bridges.graph.scales) != rows:
            raise ValueError("the parts of the fit are about tables of different sizes")
        if self.coefficients.shape != (len(self.coefficients), columns):
            raise ValueError("the rounds mix other columns than there are")
        if bool(is_constant(self.main.scores[:, None])[0]):
            raise ValueError("all scores of the main table are equal")
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

    @cached_property
    def index(self) -> Index | None:
        """Of the fitted rows, as their graph compares them; None if no graph has edges.

        Raises
        ------
        InputError
            If the fitted rows had neighbours and no features.
        """
        if not self.graph.neighbours:
            return None
        if self.main.table is None:
            raise InputError(
                f"{self.main.name} was fitted on neighbours that were given, so later rows cannot be compared with "
                "it; fit on features to apply to rows that come later."
            )
        return Index.of(self.main.table, standardised=self.graph.standardised is True, name=self.main.name)

    @property
    def graph(self) -> FeatureGraph:
        """The graph of the main table."""
        return self.bridges.graph

    @cached_property
    def _degrees(self) -> list[FloatArray]:
        """Degrees of the graph as each round weighed it, each (n,)."""
        scale, graph = self.bridges.setting.score_scale, self.bridges.graph
        return [graph.degrees(self.units.standardised_from_sphere(each.start), scale) for each in self.rounds]

    def prepare(self) -> None:
        """Compute what `extend` needs, once, before threads share it."""
        _ = self.units, self.index, self._degrees
        if self.smoothing is not None:
            self.smoothing.prepare()
        for each in self.rounds:
            _ = each.arrival.averaged, [transport.levels for transport in each.arrival.transports]

    def extend(self, new: LaterRows, edges: Edges, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Diffuse later rows.

        Parameters
        ----------
        new : LaterRows
        edges : Edges
            Of the later rows over `graph`.
        own : (q,) array
            What they start with, in the units of ``start``.

        Returns
        -------
        predictions : (q,) array
            In the units of ``start``.
        row_sums : (q, m) array
            Pair evidence that arrives at each row.
        """
        *rounds, end = zip(self.rounds, self._degrees, strict=True)
        current = own
        for each, degrees in rounds:
            arrived = each.arrival.columns(at=self._arrive(each, degrees, current, new, edges))
            current = mixture(current, arrived, own if self.bridges.method.anchored else None) @ each.coefficients
        row_sums = self._arrive(*end, current, new, edges).references.row_sums
        for number, (_, known) in new.looked_up.items():
            row_sums[:, number] = known
        return current, row_sums

    def _arrive(self, each: Round, degrees: FloatArray, current: FloatArray, new: LaterRows, edges: Edges) -> Arrival:
        """What arrives at the later rows, which have the predictions ``current`` (q,)."""
        standardise, fitted = self.units.standardised_from_sphere, each.arrival
        scale = self.bridges.setting.score_scale
        affinity = edges.affinity(standardise(current), standardise(each.start), degrees, scale)
        averages = edges.carry(affinity, fitted.averaged)
        count = self.bridges.count
        carried, row_sums = averages[:, :count], averages[:, count : 2 * count]
        for number, (values, _) in new.looked_up.items():
            carried[:, number], row_sums[:, number] = values, 1.0
        smoothed = None
        if fitted.smoothed is not None:
            block, constant = averages[:, -2:-1], averages[:, -1:]
            values = smooth_later(current[:, None], self.bridges.method.smoothing, block, constant)
            smoothed = Transport(values, constant, constant > 0)
        return Arrival(fitted.references.at_later_rows(carried, row_sums), smoothed)
