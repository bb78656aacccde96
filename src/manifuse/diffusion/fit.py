"""Fit: a diffusion that is done, ready for rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.edges import Edges, smooth_later
from manifuse.diffusion.footprint import demand_memory_to_replay
from manifuse.diffusion.joint import Round, mixture, replay
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.diffusion.transport import Arrival, Transport
from manifuse.diffusion.units import Units
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Record


@dataclass(frozen=True, eq=False)
class Fit:
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
    presmoothing : Presmoothing or None
    """

    main: Observations
    start: FloatArray
    bridges: Bridges
    coefficients: FloatArray
    presmoothing: Presmoothing | None

    def to_record(self) -> dict[str, Any]:
        """Return what a saved refinement holds of it."""
        return {
            "main": self.main.to_record(),
            "start": self.start,
            "bridges": self.bridges.to_record(),
            "coefficients": self.coefficients,
            "presmoothing": None if self.presmoothing is None else self.presmoothing.to_record(),
        }

    @classmethod
    def from_record(cls, record: Record, method: JointDiffusion) -> Fit:
        """Read a saved fit of the method.

        Raises
        ------
        KeyError, TypeError, ValueError
            If its parts do not fit together.
        """
        main = Observations.from_record(record.child("main"))
        presmoothing = None
        if record.has("presmoothing"):
            presmoothing = Presmoothing.from_record(record.child("presmoothing"), main)
        bridges = Bridges.from_record(record.child("bridges"), method, main.keys)
        coefficients = record.array("coefficients", None, None)
        smoothed = bool(bridges.anchors) and method.smoothing > 0
        columns = 1 + bridges.count + smoothed + method.anchored
        if len(coefficients) and coefficients.shape[1] != columns:
            record.refuse("has rounds that mix other columns than there are")
        fit = cls(main, record.array("start", len(main)), bridges, coefficients, presmoothing)
        record.done()
        return fit

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

    def extend(self, new: Observations) -> tuple[FloatArray, FloatArray]:
        """Refine later rows.

        Returns
        -------
        predictions : (q,) array
            In units of the main predictor.
        row_sums : (q, m) array
            Pair evidence that arrives at each row.

        Raises
        ------
        InputError
            If the later rows have other features than the fitted ones, or the rounds do not fit into memory.
        """
        own = self.units.to_sphere(new.scores)
        if self.presmoothing is not None:
            own = self.units.sphere_from_standardised(self.presmoothing.extend(new))
        edges = Edges.of(new, self.main, self.bridges.graph)
        *rounds, end = self.rounds
        current = own
        for each in rounds:
            arrived = each.arrival.columns(at=self._arrive(each, current, new, edges))
            current = mixture(current, arrived, own if self.bridges.method.anchored else None) @ each.coefficients
        return self.units.from_sphere(current), self._arrive(end, current, new, edges).references.row_sums

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
