"""Bridges: how the scores of all references reach the main table, under one setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from manifuse.backends.backend import FeatureGraph, StoredGraph
from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.method import JointDiffusion, Setting
from manifuse.diffusion.problem import Reference, locate
from manifuse.diffusion.schemes import Anchor, anchors_of, transport
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.transport import Arrival, Transport
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import standardise
from manifuse.records import Record

Key = TypeVar("Key")

#: Numbers of a block of right-hand sides while held-out pairs are predicted; more columns are done one after another.
HELD_OUT_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class Lookup:
    """The identity bridge of a coupled reference: its scores are looked up by id.

    Attributes
    ----------
    keys : (n_k,) array of str
    scores : (n_k,) array
        Standardised.
    fitted : (n,) array
        The scores of the main rows.
    """

    keys: NDArray[np.str_]
    scores: FloatArray
    fitted: FloatArray

    @classmethod
    def of(cls, keys: NDArray[np.str_], scores: FloatArray, main_keys: NDArray[np.str_]) -> Lookup:
        """Look the main rows up."""
        return cls(keys, scores, scores[locate(main_keys, keys)[0]])

    def to_record(self) -> dict[str, Any]:
        """Return what a saved refinement holds of it."""
        return {"keys": self.keys, "scores": self.scores}

    @classmethod
    def from_record(cls, record: Record, main_keys: NDArray[np.str_]) -> Lookup:
        """Read a saved lookup of the main rows.

        Raises
        ------
        ValueError
            If its parts do not fit together.
        """
        keys = record.array("keys", None, kind="U")
        scores = record.array("scores", len(keys))
        if not len(keys) or not locate(main_keys, keys)[1].all():
            record.refuse("lacks ids of the main table")
        record.done()
        return cls.of(keys, scores, main_keys)

    def at(self, keys: NDArray[np.str_]) -> tuple[FloatArray, FloatArray]:
        """Scores and row sums at rows (q,) of any ids, (q,) each: 0 and 0 at a row that the reference does not have."""
        rows, known = locate(keys, self.keys)
        return np.where(known, self.scores[rows], 0.0), known.astype(np.float64)


@dataclass(frozen=True, eq=False)
class NeighbourTables:
    """The neighbour searches that bridges need, for the largest N among the candidates.

    Attributes
    ----------
    main : Neighbours or None
        None if every reference is coupled.
    references : mapping of int to Neighbours
        By the number of the reference; coupled references are left out.
    count : int
        Number of references, coupled ones included.
    """

    main: Neighbours | None
    references: Mapping[int, Neighbours]
    count: int

    @classmethod
    def search(
        cls, setup: Setup, standardised: Sequence[bool], main: Neighbours | None, rng: np.random.Generator
    ) -> NeighbourTables:
        """Search every table once.

        Parameters
        ----------
        setup : Setup
        standardised : sequence of bool
            Whether features are standardised: of the main table, then of every reference.
        main : Neighbours or None
            The main table's search, if it was done before.
        rng : numpy.random.Generator
            Draws the samples on which the recall is measured.
        """
        bridged = setup.problem.bridged
        references = {
            number: setup.search(reference.table, standardised=standardised[1 + number], rng=rng)
            for number, reference in bridged.items()
        }
        if bridged and main is None:
            main = setup.search(setup.problem.main, standardised=standardised[0], rng=rng)
        return cls(main if bridged else None, references, len(setup.problem.references))

    def standardised(self) -> tuple[bool | None, ...]:
        """Whether features were standardised: the main table, then the references; None without a search."""
        return tuple(None if table is None else table.standardised for table in self._all())

    def recall(self) -> tuple[float | None, ...]:
        """Share of the true neighbours found: the main table, then the references; None without a graph."""
        return tuple(None if table is None else table.recall for table in self._all())

    def _all(self) -> list[Neighbours | None]:
        return [self.main, *(self.references.get(number) for number in range(self.count))]


@dataclass(frozen=True, eq=False)
class Bridges:
    """All references' bridges. Only the weights of the main table's graph change while the diffusion runs.

    Attributes
    ----------
    setting : Setting
    method : JointDiffusion
    graph : FeatureGraph
        The main table's; without edges if every reference is coupled.
    anchors : mapping of int to Anchor
        The reference side of every bridge over the graph, by the number of the reference.
    lookups : mapping of int to Lookup
        The identity bridges, likewise.
    """

    setting: Setting
    method: JointDiffusion
    graph: FeatureGraph
    anchors: Mapping[int, Anchor]
    lookups: Mapping[int, Lookup]

    @classmethod
    def build(cls, setup: Setup, settings: Sequence[Setting], tables: NeighbourTables) -> list[Bridges]:
        """Build the bridges of every setting; settings share graphs and reference sides where these are the same."""
        problem = setup.problem
        lookups = {
            number: Lookup.of(reference.table.keys, reference.scores, problem.main.keys)
            for number, reference in enumerate(problem.references)
            if number not in problem.bridged
        }
        anchors: dict[Setting, dict[int, Anchor]] = {setting: {} for setting in settings}
        for number, reference in problem.bridged.items():
            for setting, anchor in _anchors(setup, reference, tables.references[number], settings).items():
                anchors[setting][number] = anchor
        main = tables.main
        graphs = {
            count: graph_without_edges(len(problem.main)) if main is None else setup.backend.graph(main, count)
            for count in {setting.neighbours for setting in settings}
        }
        return [
            cls(setting, setup.method, graphs[setting.neighbours], anchors[setting], lookups) for setting in settings
        ]

    def to_record(self) -> dict[str, Any]:
        """Return what a saved refinement holds of it."""
        sides = {number: {"anchor": anchor.to_record()} for number, anchor in self.anchors.items()}
        sides |= {number: {"lookup": lookup.to_record()} for number, lookup in self.lookups.items()}
        return {
            "setting": self.setting.to_plain(),
            "graph": self.graph.stored().to_record(),
            "references": [sides[number] for number in sorted(sides)],
        }

    @classmethod
    def from_record(cls, record: Record, method: JointDiffusion, main_keys: NDArray[np.str_]) -> Bridges:
        """Read saved bridges to the table of the main keys.

        Raises
        ------
        KeyError, TypeError, ValueError
            If their parts do not fit together.
        """
        setting = Setting.from_record(record.child("setting"))
        graph = Host().restore(StoredGraph.from_record(record.child("graph"), len(main_keys)))
        anchors, lookups = {}, {}
        for number, side in enumerate(record.children("references")):
            if side.holds("lookup"):
                lookups[number] = Lookup.from_record(side.child("lookup"), main_keys)
            else:
                anchors[number] = setting.bridge.anchor_from(side.child("anchor"), len(main_keys))
            side.done()
        if bool(anchors) != (graph.neighbours > 0):
            record.refuse("has bridges without a graph, or a graph without bridges")
        record.done()
        return cls(setting, method, graph, anchors, lookups)

    def on_host(self) -> Bridges:
        """Return the same bridges with the graph in this machine's memory."""
        return replace(self, graph=Host().restore(self.graph.stored()))

    @property
    def count(self) -> int:
        """Number of references."""
        return len(self.anchors) + len(self.lookups)

    def arrive(self, predictions: FloatArray, smoothing: float = 0.0) -> Arrival:
        """Bring every reference to the main rows, over the graph that ``predictions`` (n,) weigh.

        With a step size ``smoothing``, also smooth ``predictions`` over that graph.
        """
        shape = (len(predictions), self.count)
        blocks: list[FloatArray] = []
        smoothed = None
        if self.anchors:
            affinity = self._affinity(predictions)
            if smoothing > 0:
                smoothed = _smooth(affinity, predictions, smoothing)
            blocks = self.setting.bridge.carry(affinity, list(self.anchors.values()), predictions)
            # What follows needs the memory of the affinity, and then that of the blocks.
            del affinity
        carried, row_sums = np.empty(shape), np.ones(shape)
        for number, lookup in self.lookups.items():
            carried[:, number] = lookup.fitted
        for number in reversed(list(self.anchors)):
            block = blocks.pop()
            carried[:, number], row_sums[:, number] = block[:, 0], block[:, -1]
        return Arrival(Transport.of(carried, row_sums), smoothed)

    def predict_held_out(
        self, predictions: FloatArray, pairs: Mapping[int, IndexArray], folds: Sequence[IndexArray]
    ) -> dict[int, FloatArray]:
        """Predict the scores of bridged references at every pair, by a bridge built without that pair's fold.

        Parameters
        ----------
        predictions : (n,) array
        pairs : mapping of int to (p,) array of int
            The main rows of the pairs of every bridged reference.
        folds : sequence of (p,) arrays of int
            The fold of each pair of every reference.

        Returns
        -------
        dict
            For the number of every bridged reference, an array (p,).
        """
        if not self.anchors:
            return {}
        affinity = self._affinity(predictions)
        tasks = [
            (number, anchor, fold) for number, anchor in self.anchors.items() for fold in np.unique(folds[number])
        ]
        held_out: dict[int, FloatArray] = {number: np.zeros(len(folds[number])) for number in self.anchors}
        at_once = max(1, HELD_OUT_NUMBERS // (2 * len(predictions)))
        for first in range(0, len(tasks), at_once):
            batch = tasks[first : first + at_once]
            omitted = [anchor.without(np.flatnonzero(folds[number] == fold)) for number, anchor, fold in batch]
            arrived: Any = transport(self.setting.bridge, affinity, omitted, predictions)
            for column, (number, _, fold) in enumerate(batch):
                here = folds[number] == fold
                held_out[number][here] = arrived.values[pairs[number][here], column]
        return held_out

    def _affinity(self, predictions: FloatArray) -> Affinity:
        """Affinity of the main table's graph, weighed by ``predictions`` (n,)."""
        return self.graph.affinity(standardise(predictions), self.setting.score_scale)


def graph_without_edges(rows: int) -> FeatureGraph:
    """Return the graph of a main table that needs none, because every reference is known on all of its rows."""
    return Host().restore(StoredGraph(sparse.csr_array((rows, rows)), np.ones(rows), 0, None, None))


def _smooth(affinity: Affinity, predictions: FloatArray, step: float) -> Transport:
    """Smooth ``predictions`` (n,) over their own graph, as if it were a bridge from the table to itself."""
    (block,) = smooth(affinity, np.column_stack([predictions, np.ones(len(predictions))]), [step])
    return Transport.of(block[:, :1], block[:, 1:])


def _anchors(
    setup: Setup, reference: Reference, table: Neighbours, settings: Sequence[Setting]
) -> dict[Setting, Anchor]:
    """The reference's side of the bridge under every setting; what settings have in common is computed once."""
    made: dict[Setting, Anchor] = {}
    scores = reference.scores
    block = np.column_stack([scores, np.ones(len(scores))])
    for count, alike in _by(lambda setting: setting.neighbours, settings).items():
        graph = setup.backend.graph(table, count)
        for scale, same in _by(lambda setting: setting.score_scale, alike).items():
            affinity = graph.affinity(scores, scale)
            schemes = [setting.bridge for setting in same]
            anchors = anchors_of(schemes, affinity, block, reference.main_rows, reference.reference_rows)
            made |= {setting: anchors[setting.bridge] for setting in same}
    return made


def _by(key: Callable[[Setting], Key], settings: Sequence[Setting]) -> dict[Key, list[Setting]]:
    """Group settings by what ``key`` returns."""
    groups: dict[Key, list[Setting]] = {}
    for setting in settings:
        groups.setdefault(key(setting), []).append(setting)
    return groups
