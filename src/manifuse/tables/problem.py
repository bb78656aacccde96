"""Problem: tables paired by id and checked against each other, as the diffusion works on them."""

from __future__ import annotations

import hashlib
import reprlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import inner, is_constant, on_sphere, standardise_prediction
from manifuse.tables.drawing_order import order_of
from manifuse.tables.lookup import Lookup
from manifuse.tables.observations import Observations
from manifuse.tables.sampling import sample_rows
from manifuse.tables.turning import Turning
from manifuse.tables.units import Units
from manifuse.tables.validity import all_alike, demand_rows

#: With fewer pairs than the first number a bridge is refused; with fewer than the second the user is warned.
LEAST_PAIRS, FEW_PAIRS = 3, 10

#: From so many rows on a table is large; a sample of so many rows decides for it whether features are standardised.
LARGE, SAMPLED = 10_000, 5_000

#: A coupled reference whose alignment with the main predictor is 1 up to this repeats the main predictor.
REPEATED = 1e-12


@dataclass(frozen=True, eq=False)
class Reference:
    """One reference, paired with the main table.

    Attributes
    ----------
    table : Observations
    main_rows, reference_rows : (p,) array of int
        The pairs, in the order of `tables.drawing_order`, so that folds drawn over them depend on rows alone.
    is_coupled : bool
        Whether every main row has a partner, so that the bridge is the identity.
    is_idle : bool
        Whether it has nothing to say, because it is constant or repeats the main predictor. It takes no part.
    turning : Turning or None
        How its columns become those of the main predictor; None if they are the same.
    """

    table: Observations
    main_rows: IndexArray
    reference_rows: IndexArray
    is_coupled: bool
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
        coupled = len(main_rows) == len(main)
        _demand_pairs(main, table, len(main_rows))
        _warn_of_spelling(main, table, len(main_rows))
        turning = Turning.of(main, table, main_rows, reference_rows)
        idle = _why_idle(main, table, main_rows, reference_rows, is_coupled=coupled)
        if idle is not None:
            warn("idle_reference", idle, stacklevel=4)
        return cls(table, main_rows, reference_rows, coupled, idle is not None, turning)

    @property
    def name(self) -> str:
        """Name of its table."""
        return self.table.name

    @property
    def scores(self) -> FloatArray:
        """Its standardised scores, shape (n_k,) or (n_k, c); computed at every call."""
        return standardise_prediction(
            self.table.scores if self.turning is None else self.turning.turn(self.table.scores)
        )

    @property
    def lookup(self) -> Lookup | None:
        """Its scores by id, for rows that come later; None if it came with features and lacks main rows."""
        if self.table.has_graph and not self.is_coupled:
            return None
        return Lookup(self.table.keys, self.scores, self.reference_rows)

    @cached_property
    def paired(self) -> FloatArray:
        """Its standardised scores at the pairs, shape (p,) or (p, c)."""
        if self.turning is None:
            return np.asarray(self.scores[self.reference_rows])
        return standardise_prediction(self.turning.turn_pairs(self.table.scores[self.reference_rows]))

    def part(self, main: Observations, rows: IndexArray) -> Reference:
        """Pair some ``rows`` of its table with a part of the main table."""
        table = self.table if len(rows) == len(self.table) else self.table.take(rows)
        main_rows, reference_rows = pairs_of(main, table)
        turning = Turning.of(main, table, main_rows, reference_rows)
        idle = _why_idle(main, table, main_rows, reference_rows, is_coupled=self.is_coupled)
        return Reference(table, main_rows, reference_rows, self.is_coupled, idle is not None, turning)


@dataclass(frozen=True, eq=False)
class Problem:
    """A main predictor and its references.

    Attributes
    ----------
    main : Observations
    references : tuple of Reference
    start : (n,) or (n, c) array
        The main predictor on the manifold, ``unit(f(0))``, as it came or as labels and references changed it.
    units : Units
        Of the main predictor.
    """

    main: Observations
    references: tuple[Reference, ...]
    start: FloatArray
    units: Units

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
        demand_rows(main)
        if len(main) < LEAST_PAIRS:
            rows = many(len(main), "row")
            raise InputError(f"{main.name} has {rows}, but at least {LEAST_PAIRS} were expected; give more.")
        if is_constant(main.scores).all():
            nothing, what = ("ranking", "scores") if main.classes is None else ("class", "probabilities")
            raise InputError(f"{all_alike(main)}, so there is no {nothing} to refine; give {what} that differ.")
        demand_different(main, references)
        units = Units.of(main.scores)
        if not 0 < units.scale < np.inf:
            raise InputError(f"The scores of {main.name} leave the range of numbers when squared; scale them.")
        return cls(main, tuple(Reference.of(main, table) for table in references), on_sphere(main.scores), units)

    @property
    def bridged(self) -> dict[int, Reference]:
        """References that a bridge over the feature graphs carries, by number; the others are known on all rows."""
        return {number: each for number, each in enumerate(self.references) if not each.is_coupled}

    def tables_with_graphs(self) -> list[Observations]:
        """The main table, and the references with features that a bridge carries."""
        bridged = [reference.table for reference in self.bridged.values()]
        return [self.main, *(table for table in bridged if table.has_graph)]

    @property
    def is_large(self) -> bool:
        """Whether the main table or a bridged reference is large."""
        return any(len(table) >= LARGE for table in self.tables_with_graphs())

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
        return Problem(main, references, on_sphere(self.start[rows]), Units.of(main.scores))


def demand_different(main: Observations, references: Sequence[Observations]) -> None:
    """Refuse empty tables, references with one name, a reference that came twice, and the main table as a reference.

    Raises
    ------
    InputError
        If there are any, or a table is empty.
    """
    demand_rows(main, *references)
    names = [reference.name for reference in references]
    if len(set(names)) < len(names):
        raise InputError(f"The references are named {names}; give each a name of its own.")
    alike: dict[bytes, list[Observations]] = {}
    for table in references:
        # As they came: log-odds and probabilities are the same scores.
        if len(table) == len(main) and _have_same_scores(table, main):
            raise InputError(
                f"The reference {table.name} is the main table itself, ids and scores; give another predictor's table."
            )
        if np.ptp(table.scores) == 0:
            continue
        # Two tables of the same rows in another order have the same sorted scores.
        others = alike.setdefault(hashlib.blake2b(np.sort(table.scores, axis=None).tobytes()).digest(), [])
        for twin in others:
            if _have_same_scores(table, twin):
                raise InputError(
                    f"{twin.name} and {table.name} have the same scores of the same rows, so one reference would "
                    "count twice; give it once."
                )
        others.append(table)


def _have_same_scores(table: Observations, twin: Observations) -> bool:
    """Whether all rows of a table are in its twin, with the same scores."""
    if table.classes != twin.classes:
        return False
    ours, theirs = table.in_scale(table.scores), twin.in_scale(twin.scores)
    if len(table) == len(twin) and not np.array_equal(np.sort(ours, axis=None), np.sort(theirs, axis=None)):
        return False
    rows, found = locate(table.keys, twin.keys)
    return bool(found.all()) and np.array_equal(theirs[rows], ours)


def _why_idle(
    main: Observations, table: Observations, main_rows: IndexArray, reference_rows: IndexArray, *, is_coupled: bool
) -> str | None:
    """Why a reference has nothing to say; None if it has."""
    # A coupled reference may vary only on rows that the main table does not have.
    used = table.scores[reference_rows] if is_coupled else table.scores
    if is_constant(used).all():
        return f"{all_alike(table)}; it gets weight 0."
    ours, theirs = main.in_scale(main.scores)[main_rows], table.in_scale(table.scores)[reference_rows]
    if (
        is_coupled
        and main.classes == table.classes
        and abs(inner(on_sphere(theirs), on_sphere(ours))) > 1.0 - REPEATED
    ):
        return f"{table.name} repeats the scores of {main.name} up to offset and scale; it gets weight 0."
    return None


def pairs_of(main: Observations, table: Observations) -> tuple[IndexArray, IndexArray]:
    """Rows of the main table and of another whose ids are equal, in the order of `tables.drawing_order`."""
    rows, known = locate(main.keys, table.keys)
    main_rows = np.flatnonzero(known)
    main_rows = main_rows[order_of(main, main_rows)]
    return main_rows, rows[main_rows]


def _warn_of_spelling(main: Observations, table: Observations, pairs: int) -> None:
    """Warn of ids that look alike and are not equal: composed in another way, or with characters of no width."""
    sides = [each.keys for each in (main, table)]
    if all(np.ascontiguousarray(keys).view(np.uint32).max(initial=0) < 128 for keys in sides):
        return
    alike = len(set(map(_plain, sides[0].tolist())) & set(map(_plain, sides[1].tolist())))
    if alike > pairs:
        warn(
            "spelling_of_ids",
            f"{many(alike - pairs, 'more id')} of {table.name} would pair with {main.name} if both wrote "
            "characters in one way (Unicode NFC, without characters of no width); spell them alike.",
            stacklevel=5,
        )


def _plain(key: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", key) if unicodedata.category(each) != "Cf")


def _first_of(table: Observations) -> str:
    """Show the first ids of a table."""
    return ", ".join(reprlib.repr(str(key)) for key in table.keys[:2])


def _demand_pairs(main: Observations, table: Observations, pairs: int) -> None:
    """Refuse too few pairs, and other main rows without features; warn of few pairs."""
    if pairs < LEAST_PAIRS:
        raise InputError(
            f"{table.name} shares {pairs} of its {many(len(table), 'id')} with {main.name}, but at least "
            f"{LEAST_PAIRS} (better 30 to 200) are needed; check that both tables name their rows alike "
            f"({table.name}: {_first_of(table)}; {main.name}: {_first_of(main)})."
        )
    if pairs < FEW_PAIRS:
        warn(
            "few_pairs",
            f"{table.name} shares only {pairs} ids with {main.name}; fewer than {FEW_PAIRS} seldom carry a bridge.",
            stacklevel=5,
        )
    if pairs < len(main) and not main.has_graph:
        raise InputError(
            f"{table.name} shares {pairs} of {len(main)} ids with {main.name}, whose other rows need features to be "
            f"compared with these, but {main.name} came without; give its features, or give {table.name} scores of "
            f"the {many(len(main) - pairs, 'id')} that it lacks."
        )
