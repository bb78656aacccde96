"""All columns: what a run starts from, its columns in their order, and what it finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, cast

import numpy as np

from manifuse.columns.column import FittedViews, Mixed
from manifuse.columns.diffused import Diffused
from manifuse.columns.expected import Expected
from manifuse.columns.held_labels import Labels
from manifuse.columns.imputed import Imputed
from manifuse.columns.learned import Learned, Taught
from manifuse.columns.own import Smoothed
from manifuse.columns.probable import Calibrated
from manifuse.columns.view import View
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import Path
from manifuse.diffusion.tuning import TunedBridges
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, drawn_by_place
from manifuse.kernels.randomness import Stream, generator
from manifuse.tables.drawing_order import places_of
from manifuse.tables.level import Level
from manifuse.tables.problem import Problem, Reference

#: Rows that measure median distances.
MEASURING_ROWS = 300


@dataclass(frozen=True, eq=False)
class RunInputs:
    """The inputs of a run, from which its columns are computed.

    Attributes
    ----------
    problem : Problem
    tuned : TunedBridges
        With the graph of the main table; without edges if there is none.
    taking_part : mapping of int to Reference
        The references that take part, by their numbers.
    score : Score or None
        What labels measure.
    groups : mapping of int to str, or None
        Of the labelled rows.
    same_target : bool or None
        Whether the user says that all predict the same thing.
    seed : int
    is_sample : bool
        Whether the problem is a sample of larger tables.
    """

    problem: Problem
    tuned: TunedBridges
    taking_part: dict[int, Reference]
    score: Score | None
    groups: dict[int, str] | None
    same_target: bool | None
    seed: int
    is_sample: bool

    @property
    def bridges(self) -> Bridges:
        """The bridges that were chosen."""
        return self.tuned.bridges

    @property
    def labels_are_classes(self) -> bool:
        """Whether there are labels, and they are classes."""
        return isinstance(self.score, LogLoss)

    @cached_property
    def places(self) -> IndexArray:
        """The places of the rows in the order in which they are drawn; see `tables.drawing_order`."""
        return places_of(self.problem.main)

    @cached_property
    def measured(self) -> IndexArray:
        """The rows that measure distances."""
        rng = generator(self.seed, Stream.DISTANCES)
        return drawn_by_place(self.places, np.arange(len(self.places)), MEASURING_ROWS, rng)


#: The kinds of columns, by which a file is read.
AnyColumn = Smoothed | Imputed | Expected | Calibrated | Learned | Mixed | Diffused


@dataclass(frozen=True, eq=False)
class Columns:
    """All columns of a run. Each follows from those before it.

    Attributes
    ----------
    own : Level
        Of the main predictor's scores.
    by_name : mapping of str to Column
        The others, in the order in which the run computed them.
    """

    own: Level
    by_name: Mapping[str, AnyColumn] = field(default_factory=dict)

    def with_columns(self, **columns: AnyColumn) -> Self:
        """Return these columns with more after them, or with others in their places."""
        return replace(self, by_name={**self.by_name, **columns})

    def at(self, rows: View) -> View:
        """Complete what is known of rows, which have own scores already."""
        for name, column in self.by_name.items():
            rows = column.add_to(rows, name)
        return rows

    @property
    def last(self) -> str:
        """The name of the column from which scores are made."""
        return list(self.by_name)[-1]

    @property
    def smoothed(self) -> Smoothed | None:
        """Own scores, smoothed over the graph; None without a graph."""
        return cast("Smoothed | None", self.by_name.get("smoothed"))

    @property
    def references(self) -> Imputed:
        """The references' scores."""
        return cast(Imputed, self.by_name["references"])

    @property
    def expected(self) -> Expected:
        """What is expected of rows without labels."""
        return cast(Expected, self.by_name["expected"])

    @property
    def calibrated(self) -> Calibrated | None:
        """Probabilities of classes before labels teach, as the labels calibrate them; None of scores."""
        return cast("Calibrated | None", self.by_name.get("calibrated"))

    @property
    def learned(self) -> Learned | None:
        """What labels taught; None without labels."""
        return cast("Learned | None", self.by_name.get("learned"))

    @property
    def taught(self) -> Mixed | None:
        """What was known before, and what was learned; None without labels."""
        return cast("Mixed | None", self.by_name.get("taught"))

    @property
    def diffused(self) -> Diffused | None:
        """What was diffused; None if nothing was."""
        return cast("Diffused | None", self.by_name.get("diffused"))

    @property
    def refined(self) -> Mixed | None:
        """What was known before, and what was diffused of it; None if nothing was."""
        return cast("Mixed | None", self.by_name.get("refined"))

    def of_scores(self, rows: View) -> tuple[FloatArray, FloatArray, BoolArray]:
        """What scores are made of: what is expected of rows, the last column, and which rows are pairs."""
        return rows["expected"], rows[self.last], rows["known itself"] > 0


@dataclass(frozen=True, eq=False)
class RunOutputs:
    """What a run found.

    Attributes
    ----------
    columns : Columns
    views : FittedViews
    agreement : Agreement
        What the references answered.
    labels : Labels or None
    taught : Taught or None
        What labels taught.
    path : Path or None
        Of the diffusion; None if nothing was diffused.
    """

    columns: Columns
    views: FittedViews
    agreement: Agreement
    labels: Labels | None
    taught: Taught | None = None
    path: Path | None = None
