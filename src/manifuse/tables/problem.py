"""Problem: tables paired by id and checked against each other, as the diffusion works on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import KeyIndex
from manifuse.kernels.sphere import centred_norm, is_constant, on_sphere, standardise_prediction
from manifuse.records import Saveable
from manifuse.tables.far_values import warn_of_far, warn_of_features
from manifuse.tables.level import Level
from manifuse.tables.observations import Observations
from manifuse.tables.pairing import demand_different, demand_pairs, pairs_of, warn_of_spelling, why_idle
from manifuse.tables.sampling import sample_rows
from manifuse.tables.straightening import straightened
from manifuse.tables.table_checks import all_alike
from manifuse.tables.turning import Turning, exchanged, least_of, warn_of_exchanged

#: From so many rows on a table is large; a sample of so many rows decides for it whether features are standardised.
LARGE, SAMPLED = 10_000, 5_000

#: A reference that knows a larger share of the main rows knows most.
KNOWS_MOST = 0.5


@dataclass(frozen=True, eq=False)
class Lookup(Saveable):
    """Scores of a reference by id.

    Attributes
    ----------
    keys : (n_k,) array of str
    scores : (n_k,) or (n_k, c) array
        Standardised.
    """

    keys: NDArray[np.str_]
    scores: FloatArray

    def at(self, keys: NDArray[np.str_]) -> tuple[FloatArray, FloatArray]:
        """Scores of rows by their ids (q,), and 1 where the reference has the row; one that it lacks has 0 in both."""
        rows, known = self._index.locate(keys)
        found = self.scores[rows]
        found[~known] = 0.0
        return found, known.astype(np.float64)

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.keys)


@dataclass(frozen=True, eq=False)
class Reference:
    """One reference, paired with the main table.

    Attributes
    ----------
    table : Observations
    main_rows, reference_rows : (p,) array of int
        The pairs, in the order of `tables.drawing_order`, so that folds drawn over them depend on rows alone.
    known_share : float
        Of all main rows, the share that it knows; of a part of the tables, that of the whole.
    is_idle : bool
        Whether it has nothing to say, because it is constant or repeats the main predictor. It takes no part.
    turning : Turning or None
        How its columns become those of the main predictor; None if they are the same.
    """

    table: Observations
    main_rows: IndexArray
    reference_rows: IndexArray
    known_share: float
    is_idle: bool
    turning: Turning | None

    @classmethod
    def of(cls, main: Observations, table: Observations) -> Reference:
        """Pair a table with the main table by id; warn if it can contribute little.

        Raises
        ------
        InputError
            If it has too few pairs, or lacks main rows and these have no features.
        """
        main_rows, reference_rows = pairs_of(main, table)
        share = len(main_rows) / len(main)
        demand_pairs(main, table, len(main_rows))
        warn_of_spelling(main, table, len(main_rows))
        if table.classes is None:
            # Without a graph, only its scores at the pairs are used.
            used = reference_rows if table.table is None else np.arange(len(table))
            warn_of_far(f"scores of {table.name}", table.scores[used], table.keys[used])
        turning = Turning.of(main, table, main_rows, reference_rows)
        idle = why_idle(main, table, main_rows, reference_rows, turning, is_coupled=share == 1)
        if idle is not None:
            warn("idle_reference", idle)
        elif main.classes is not None and table.classes is not None:
            ours, theirs = main.in_scale(main.scores)[main_rows], table.in_scale(table.scores)[reference_rows]
            places = table.classes.places_of(main.classes.names)
            shared = np.flatnonzero(places >= 0)
            fits = exchanged(theirs[:, places[shared]], ours[:, shared], least_of(len(main_rows)))
            said = f"The probabilities of {table.name} fit those of other classes in {main.name} better"
            names = tuple(main.classes.names[place] for place in shared)
            warn_of_exchanged(said, names, fits, "which column is which class in both")
        return cls(table, main_rows, reference_rows, share, idle is not None, turning)

    def straightened(self, main: Observations) -> Reference:
        """Return the same reference of a straightened ``main``, straightened by the rows that are used."""
        table = straightened(self.table, self.reference_rows if self.is_looked_up else None)
        return replace(self, table=table, turning=Turning.of(main, table, self.main_rows, self.reference_rows))

    @property
    def name(self) -> str:
        """Name of its table."""
        return self.table.name

    @property
    def scores(self) -> FloatArray:
        """Its standardised scores, shape (n_k,) or (n_k, c); computed at every call.

        Mean and deviation are those of the rows that are fitted: the pairs or, with a bridge over features, all rows.
        """
        scores = self.table.scores if self.turning is None else self.turning.turn(self.table.scores)
        if not self.is_looked_up or len(self.reference_rows) == len(scores):
            return standardise_prediction(scores)
        return Level.of(scores[self.reference_rows]).apply(scores)

    @property
    def is_coupled(self) -> bool:
        """Whether every main row has a partner, so that the bridge is the identity."""
        return self.known_share == 1

    @property
    def knows_most(self) -> bool:
        """Whether it knows most main rows, so that what it knows is usual."""
        return self.known_share > KNOWS_MOST

    @property
    def is_looked_up(self) -> bool:
        """Whether its scores are found by id, because it came without features or knows all main rows."""
        return self.is_coupled or self.table.table is None

    @property
    def lookup(self) -> Lookup | None:
        """Its scores by id, for rows that come later; None if it came with features and lacks main rows."""
        return Lookup(self.table.keys, self.scores) if self.is_looked_up else None

    @cached_property
    def paired(self) -> FloatArray:
        """Its standardised scores at the pairs, shape (p,) or (p, c)."""
        if self.turning is None:
            return np.asarray(self.scores[self.reference_rows])
        return standardise_prediction(self.turning.turn_pairs(self.table.scores[self.reference_rows]))

    def part(self, main: Observations, rows: IndexArray) -> Reference:
        """Pair some ``rows`` of its table with a part of the main table."""
        # A bridge needs features, and those of others are never read.
        is_whole = len(rows) == len(self.table) and (self.is_coupled or not self.table.is_unread)
        table = self.table if is_whole else self.table.take(rows)
        main_rows, reference_rows = pairs_of(main, table)
        turning = Turning.of(main, table, main_rows, reference_rows)
        idle = why_idle(main, table, main_rows, reference_rows, turning, is_coupled=self.is_coupled)
        return Reference(table, main_rows, reference_rows, self.known_share, idle is not None, turning)


@dataclass(frozen=True, eq=False)
class Problem:
    """A main predictor and its references.

    Attributes
    ----------
    main : Observations
    references : tuple of Reference
    start : (n,) or (n, c) array
        The main predictor on the manifold, ``unit(f(0))``, as it came or as labels and references changed it.
    """

    main: Observations
    references: tuple[Reference, ...]
    start: FloatArray

    @classmethod
    def of(cls, main: Observations, references: Sequence[Observations], *, needed: bool = True) -> Problem:
        """Pair the tables by id; ``needed`` says whether there must be a reference.

        Raises
        ------
        InputError
            If the main predictor is constant, there is no reference, names repeat, a reference was given twice, or
            one cannot be paired.
        """
        if needed and not references:
            raise InputError(
                "No reference and no labels came; give at least one table of another predictor's scores, or labels."
            )
        demand_different(main, references)
        if is_constant(main.scores).all():
            nothing, what = ("ranking", "scores") if main.classes is None else ("class", "probabilities")
            raise InputError(f"{all_alike(main)}, so there is no {nothing} to refine; give {what} that differ.")
        if not 0 < centred_norm(main.scores) < np.inf:
            raise InputError(f"The scores of {main.name} leave the range of numbers when squared; scale them.")
        if main.classes is None:
            warn_of_far(f"scores of {main.name}", main.scores, main.keys)
        paired = tuple(Reference.of(main, table) for table in references)
        for table in (main, *references):
            warn_of_features(table)
        return cls(main, paired, on_sphere(main.scores))

    @cached_property
    def units(self) -> Level:
        """Mean and deviation of the main predictor's scores."""
        return Level.of(self.main.scores)

    @property
    def bridged(self) -> dict[int, Reference]:
        """References that a bridge over the feature graphs carries, by number; the others are known on all rows."""
        return {number: each for number, each in enumerate(self.references) if not each.is_coupled}

    def tables_with_graphs(self) -> list[Observations]:
        """The main table, and the references with features that a bridge carries."""
        bridged = [reference.table for reference in self.bridged.values()]
        return [self.main, *(table for table in bridged if table.table is not None)]

    @property
    def is_large(self) -> bool:
        """Whether the main table or a bridged reference is large."""
        return any(len(table) >= LARGE for table in self.tables_with_graphs())

    def standardised(self, points: FloatArray) -> FloatArray:
        """Standardised scores of points of the manifold; both have no unit."""
        return np.asarray(points * np.sqrt(self.start.size))

    def straightened(self, *, with_main: bool) -> Problem:
        """Return the same problem with scores that are straightened: those of references, and of the main table."""
        main = straightened(self.main) if with_main else self.main
        references = tuple(reference.straightened(main) for reference in self.references)
        return Problem(main, references, on_sphere(main.scores))

    def starting_from(self, scores: FloatArray) -> Problem:
        """Return the same problem with other scores to start from, in any shape; the units stay."""
        return replace(self, start=on_sphere(scores.reshape(self.start.shape)))

    def sample(self, rng: np.random.Generator, size: int | None = None, labelled: IndexArray | None = None) -> Problem:
        """Return the problem of a sample of every table, by default of `SAMPLED` rows; see `sample_rows`."""
        size = SAMPLED if size is None else size
        tables = [reference.table for reference in self.references]
        rows, chosen = sample_rows(self.main, tables, size, rng, labelled)
        main = self.main.take(rows)
        references = tuple(each.part(main, there) for each, there in zip(self.references, chosen, strict=True))
        return Problem(main, references, on_sphere(self.start[rows]))
