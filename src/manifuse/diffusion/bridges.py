"""Bridges: the bridges of all references to one main table, under one setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from manifuse.backends.backend import Backend, FeatureGraph
from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.diffusion.method import JointDiffusion, Setting, choices
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem, Reference
from manifuse.diffusion.schemes import Anchor, Transport, anchors_of, transport
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import standardise

Key = TypeVar("Key")

#: Numbers of a block of right-hand sides while held-out pairs are asked; more columns wait for their turn.
HELD_OUT_NUMBERS = 1 << 22


def neighbours_of(
    table: Observations,
    count: int,
    method: JointDiffusion,
    backend: Backend,
    *,
    standardised: bool,
    rng: np.random.Generator,
) -> Neighbours:
    """Return the neighbours that a table came with, or search ``count`` of every row by its features."""
    if table.neighbours is not None:
        return table.neighbours
    assert table.table is not None, "a table without any graph is refused before"
    return backend.search(table.table, Query(count, standardised, table.name, method.search), rng)


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
        """Whether features were standardised: the main table, then the references; None where they were not seen."""
        return tuple(None if table is None else table.standardised for table in (self.main, *self.references))

    def recall(self) -> tuple[float | None, ...]:
        """Share of the true neighbours found: the main table, then the references; None without a graph."""
        return tuple(None if table is None else table.recall for table in (self.main, *self.references))

    @classmethod
    def search(
        cls,
        problem: Problem,
        method: JointDiffusion,
        backend: Backend,
        *,
        main: Neighbours | None = None,
        standardised: Sequence[bool],
        rng: np.random.Generator,
    ) -> NeighbourTables:
        """Search every table once, the main table and the references each standardised or not.

        ``main`` is the main table's search, if it was made before.
        """
        count = max(choices(method.neighbours))

        def search(table: Observations, flag: bool) -> Neighbours:
            return neighbours_of(table, count, method, backend, standardised=flag, rng=rng)

        references = tuple(
            None if reference.is_coupled else search(reference.table, flag)
            for reference, flag in zip(problem.references, standardised[1:], strict=True)
        )
        needed = any(table is not None for table in references)
        if needed and main is None:
            main = search(problem.main, standardised[0])
        return cls(main if needed else None, references)


@dataclass(frozen=True, eq=False)
class Bridges:
    """All references' bridges; only the main side's weights change while the diffusion runs.

    Attributes
    ----------
    problem : Problem
    setting : Setting
    graph : FeatureGraph or None
        The main table's; None where every reference is coupled.
    anchors : tuple of (int, Anchor)
        Backend among the references and reference side, for those that are not coupled.
    standardised : tuple of bool or None
        As `NeighbourTables.standardised` has it.
    recall : tuple of float or None
        As `NeighbourTables.recall` has it.
    """

    problem: Problem
    setting: Setting
    graph: FeatureGraph | None
    anchors: tuple[tuple[int, Anchor], ...]
    standardised: tuple[bool | None, ...]
    recall: tuple[float | None, ...]

    @classmethod
    def build(
        cls, problem: Problem, settings: Sequence[Setting], tables: NeighbourTables, backend: Backend
    ) -> list[Bridges]:
        """Build the bridges of every setting; graphs and reference sides that settings have in common are shared."""
        sides: dict[Setting, list[tuple[int, Anchor]]] = {setting: [] for setting in settings}
        for number, (reference, table) in enumerate(zip(problem.references, tables.references, strict=True)):
            if table is not None:
                for setting, anchor in _anchors(reference, table, settings, backend).items():
                    sides[setting].append((number, anchor))
        graphs = {
            count: None if tables.main is None else backend.graph(tables.main, count)
            for count in {setting.neighbours for setting in settings}
        }
        return [
            cls(
                problem,
                setting,
                graphs[setting.neighbours],
                tuple(sides[setting]),
                tables.standardised(),
                tables.recall(),
            )
            for setting in settings
        ]

    def to_keep(self) -> Bridges:
        """Return the same bridges, their graph in this machine's memory, without the references' features."""
        references = tuple(reference.without_features() for reference in self.problem.references)
        graph = None if self.graph is None else Host().restore(self.graph.stored())
        return replace(self, problem=replace(self.problem, references=references), graph=graph)

    def arrive(self, predictions: FloatArray, smoothing: float = 0.0) -> tuple[Transport, Transport | None]:
        """Bring every reference to the main rows over the graph that ``predictions`` (n,) weigh.

        Returns
        -------
        transport : Transport
        smoothed : Transport or None
            ``predictions`` smoothed over that graph by a step of ``smoothing``, as a reference that all rows are
            paired with; None where there is no graph or the step is 0.
        """
        blocks: list[FloatArray] = []
        smoothed = None
        affinity = self._affinity(predictions)
        if affinity is not None and smoothing > 0:
            (block,) = smooth(affinity, np.column_stack([predictions, np.ones(len(predictions))]), [smoothing])
            smoothed = Transport.of(block[:, :1], block[:, 1:])
        if affinity is not None:
            blocks = self.setting.bridge.carry(affinity, [anchor for _, anchor in self.anchors], predictions)
        # What comes now needs the room of the affinity, and then that of the blocks.
        affinity = None
        shape = (len(predictions), len(self.problem.references))
        carried, row_sums = np.empty(shape), np.ones(shape)
        for place, reference in enumerate(self.problem.references):
            if reference.is_coupled:
                carried[reference.main_rows, place] = reference.paired
        for place, _ in reversed(self.anchors):
            block = blocks.pop()
            carried[:, place], row_sums[:, place] = block[:, 0], block[:, -1]
        return Transport.of(carried, row_sums), smoothed

    def transport(self, predictions: FloatArray) -> Transport:
        """Bring every reference to the main rows over the graph that ``predictions`` (n,) weigh."""
        return self.arrive(predictions)[0]

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
        affinity = self._affinity(predictions)
        if affinity is None:
            return {}
        tasks = [(place, anchor, fold) for place, anchor in self.anchors for fold in np.unique(folds[place])]
        held_out: dict[int, FloatArray] = {place: np.zeros(len(folds[place])) for place, _ in self.anchors}
        at_once = max(1, HELD_OUT_NUMBERS // (2 * len(predictions)))
        for first in range(0, len(tasks), at_once):
            asked = tasks[first : first + at_once]
            omitted = [anchor.without(np.flatnonzero(folds[place] == fold)) for place, anchor, fold in asked]
            arrived: Any = transport(self.setting.bridge, affinity, omitted, predictions)
            for column, (place, _, fold) in enumerate(asked):
                here = folds[place] == fold
                held_out[place][here] = arrived.values[self.problem.references[place].main_rows[here], column]
        return held_out

    def _affinity(self, predictions: FloatArray) -> Affinity | None:
        """Affinity of the main table, re-weighted by ``predictions`` (n,); None where there is no graph."""
        if self.graph is None:
            return None
        return self.graph.affinity(standardise(predictions), self.setting.score_scale)


def _anchors(
    reference: Reference, table: Neighbours, settings: Sequence[Setting], backend: Backend
) -> dict[Setting, Anchor]:
    """The reference's side of the bridge under every setting; what settings have in common is made once."""
    made: dict[Setting, Anchor] = {}
    for count, alike in _by(lambda setting: setting.neighbours, settings).items():
        graph = backend.graph(table, count)
        scores = reference.scores
        block = np.column_stack([scores, np.ones(len(scores))])
        for scale, same in _by(lambda setting: setting.score_scale, alike).items():
            affinity = graph.affinity(scores, scale)
            schemes = [setting.bridge for setting in same]
            anchors = anchors_of(schemes, affinity, block, reference.main_rows, reference.reference_rows)
            made |= {setting: anchors[setting.bridge] for setting in same}
    return made


def _by(key: Callable[[Setting], Key], settings: Sequence[Setting]) -> dict[Key, list[Setting]]:
    """Settings by what a key makes of them."""
    groups: dict[Key, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(key(setting), []).append(setting)
    return groups
