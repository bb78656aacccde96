"""Diffused: Algorithm 1, started from what is known of every row, for fitted rows and for rows that come later."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifuse.columns.column import Column
from manifuse.columns.edges import smooth_later
from manifuse.columns.view import View
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.footprint import demand_memory_to_replay
from manifuse.diffusion.joint import Path, Round, diffuse, mixture, replay
from manifuse.evidence.holding_out import Folds
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.problem import Problem

#: Rounds of the diffusion over the own graph alone; more of them blur it.
ROUNDS_ALONE = 3


@dataclass(frozen=True, eq=False)
class Diffused(Column):
    """A diffusion that has been run.

    Off the pairs, a row of the implicit bridge is an average of its neighbours' rows. A later row takes the average of
    its nearest fitted rows, weighed as the graph weighs them. References that know it are looked up.

    Attributes
    ----------
    source : str
        The column before it.
    start : (n,) or (n, c) array
        That column at the fitted rows, on the sphere.
    bridges : Bridges
        With the graph in this machine's memory.
    columns : mapping of int to int
        Of every coupled reference, its place in the column "references"; -1 if it takes no part.
    coefficients : (rounds, k) array
        What every round mixed; see `Path`.
    """

    source: str
    start: FloatArray
    bridges: Bridges
    columns: Mapping[int, int]
    coefficients: FloatArray

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """What every round worked on, computed again when it is first needed.

        Raises
        ------
        InputError
            If that does not fit into memory.
        """
        demand_memory_to_replay(self.bridges, self.start, len(self.coefficients))
        return replay(self.start, self.bridges, self.coefficients)

    @cached_property
    def _degrees(self) -> list[FloatArray]:
        """Degrees of the graph as each round weighed it, each (n,)."""
        scale = self.bridges.setting.score_scale
        return [self.bridges.graph.degrees(self._standardised(each.start), scale) for each in self.rounds]

    def prepare(self) -> None:
        """Compute what later rows need, once, before threads share it."""
        _ = self._degrees
        for each in self.rounds:
            _ = each.arrival.averaged, [transport.levels for transport in each.arrival.transports]

    def add_to(self, rows: View, name: str) -> View:
        """Diffuse rows that came later; see `Column.add_to`."""
        own = rows[self.source].reshape(len(rows), *self.start.shape[1:]) / np.sqrt(self.start.size)
        current = own
        for each, degrees, coefficients in zip(self.rounds, self._degrees, self.coefficients, strict=True):
            arrived = each.arrival.columns(at=self._arrive(each, degrees, current, rows))
            columns = mixture(current, arrived, own if self.bridges.algorithm.anchored else None)
            current = (columns @ coefficients).reshape(own.shape)
        return rows.with_column(name, self._standardised(current).reshape(rows[self.source].shape))

    def _standardised(self, values: FloatArray) -> FloatArray:
        """Values on the sphere, brought to the deviation 1."""
        return np.asarray(values * np.sqrt(self.start.size))

    def _arrive(self, each: Round, degrees: FloatArray, current: FloatArray, rows: View) -> list[FloatArray]:
        """What arrives at the later rows, which have the predictions ``current``."""
        fitted, edges, shape = each.arrival, rows.edges, (*current.shape, self.bridges.count)
        width = int(np.prod(shape[1:]))
        assert edges is not None, "fitted rows are diffused together"
        new, old = self._standardised(current), self._standardised(each.start)
        averages = edges.average(fitted.averaged, new, old, degrees, self.bridges.setting.score_scale)
        carried, row_sums = averages[:, :width].reshape(shape), averages[:, width : width + shape[-1]]
        for number, column in self.columns.items():
            if column >= 0:
                carried[..., number], row_sums[:, number] = rows["references"][:, column].reshape(current.shape), 1.0
        arrived = [fitted.references.at_later_rows(carried, row_sums)]
        if fitted.smoothed is not None:
            block, constant = averages[:, width + shape[-1] : -1], averages[:, -1:]
            flat = current.reshape(len(current), -1)
            values = smooth_later(flat, self.bridges.algorithm.smoothing, block, constant)
            arrived.append(values.reshape(*current.shape, 1))
        return arrived


@dataclass(frozen=True, eq=False)
class Diffusion:
    """How a column is diffused.

    Attributes
    ----------
    problem : Problem
    bridges : Bridges
    numbers : tuple of int
        The references that are followed, if any; else it diffuses over the own graph alone.
    """

    problem: Problem
    bridges: Bridges
    numbers: tuple[int, ...]

    def run(self, start: FloatArray, without: IndexArray | None = None) -> Path:
        """Diffuse from a column (n, c), over bridges without the pairs at some main rows.

        Pairs of references that know most rows stay, because such a reference is likely to know other rows, too.
        """
        bridges = self.bridges
        if not self.numbers:
            rounds = min(ROUNDS_ALONE, bridges.algorithm.rounds)
            bridges = replace(bridges, algorithm=replace(bridges.algorithm, rounds=rounds))
        if without is not None:
            left = {
                number: anchor
                if self.problem.references[number].knows_most
                else anchor.without(np.flatnonzero(np.isin(anchor.main_rows, without)))
                for number, anchor in bridges.anchors.items()
            }
            bridges = replace(bridges, anchors=left)
        followed = np.isin(np.arange(len(self.problem.references)), self.numbers).astype(np.float64)
        return diffuse(self.problem.starting_from(start), bridges, followed)

    def values(self, path: Path, start: FloatArray) -> FloatArray:
        """What came of it (n, c), standardised."""
        return self.problem.standardised(path.predictions).reshape(start.shape)

    def trials(self, folds: Folds, rows: IndexArray, start: Callable[[IndexArray], FloatArray]) -> FloatArray:
        """Diffuse again for every fold of the first trial, without its labels and pairs.

        Parameters
        ----------
        folds : Folds
        rows : (l,) array of int
            The labelled rows.
        start : callable
            From the labels of a fold to what would be known (n, c) without them.

        Returns
        -------
        (1, l, c) array
        """
        made = np.empty((1, len(rows), self.problem.units.mean.size))
        for fold in folds.rows(0):
            begun = start(fold)
            made[0, fold] = self.values(self.run(begun, without=rows[fold]), begun)[rows[fold]]
        return made
