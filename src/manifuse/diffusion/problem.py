"""Problem: tables paired by id, checked against each other, as the arrays that the diffusion works on."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError, ManifuseWarning
from manifuse.evidence.score import GradedRanking, PairedRanking, Score, SquaredError
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray
from manifuse.kernels.sphere import is_constant, spread, standardise, unit

#: Pairs below which a bridge is refused, and below which the user is warned.
LEAST_PAIRS, FEW_PAIRS = 3, 10

#: A coupled reference that aligns with the main predictor to this is the main predictor over again.
REPEATED = 1e-12


@dataclass(frozen=True, eq=False)
class Reference:
    """One reference as the diffusion sees it.

    Attributes
    ----------
    name : str
    table : Observations
        As it came.
    paired : (p,) array
        Its standardised scores at the pairs.
    main_rows, reference_rows : (p,) array of int
        The pairs, in the order of their ids.
    is_coupled : bool
        Whether every main row has its partner, so that the bridge is the identity.
    is_idle : bool
        Whether it has nothing to say: constant, or the main predictor over again. It takes no part.
    """

    name: str
    table: Observations
    paired: FloatArray
    main_rows: IndexArray
    reference_rows: IndexArray
    is_coupled: bool
    is_idle: bool

    @property
    def scores(self) -> FloatArray:
        """Its standardised scores, shape (n_k,); made anew every time."""
        return standardise(self.table.scores)

    def without_features(self) -> Reference:
        """Return the same reference with as much of its table as is needed once its bridge stands."""
        rows, table = self.reference_rows, self.table
        if self.is_coupled:
            return replace(self, table=table.without_features())
        pairs = Observations(table.scores[rows], ids=table.keys[rows], name=self.name)
        return replace(self, table=pairs, reference_rows=np.arange(len(rows)))


@dataclass(frozen=True, eq=False)
class Problem:
    """A main predictor and its references.

    Attributes
    ----------
    main : Observations
    references : tuple of Reference
    start : (n,) array
        The main predictor on the manifold, ``unit(f(0))``, presmoothed or as it came.
    offset, scale : float
        What `restore` puts back.
    """

    main: Observations
    references: tuple[Reference, ...]
    start: FloatArray
    offset: float
    scale: float

    @classmethod
    def of(cls, main: Observations, references: Sequence[Observations]) -> Problem:
        """Pair the tables by id.

        Raises
        ------
        InputError
            If the main predictor is constant, there is no reference, names repeat, or a reference cannot
            be paired.
        """
        if not references:
            raise InputError("No reference came; give at least one table of another predictor's scores.")
        names = [reference.name for reference in references]
        if len(set(names)) < len(names):
            raise InputError(f"The references are named {names}; give each a name of its own.")
        if len(main) < LEAST_PAIRS:
            rows = f"{len(main)} row{'s' if len(main) > 1 else ''}"
            raise InputError(f"{main.name} has {rows}, but at least {LEAST_PAIRS} were expected; give more.")
        if bool(is_constant(main.scores[:, None])[0]):
            raise InputError(
                f"All scores of {main.name} are equal, so there is no ranking to refine; give scores that differ."
            )
        scale = float(spread(main.scores[:, None])[0])
        if not 0 < scale < np.inf:
            raise InputError(f"The scores of {main.name} leave the range of numbers when squared; scale them.")
        return cls(
            main=main,
            references=tuple(_pair(main, reference) for reference in references),
            start=unit(main.scores),
            offset=float(main.scores.mean()),
            scale=scale,
        )

    @property
    def is_coupled(self) -> bool:
        """Whether every reference is, so that no bridge is needed."""
        return all(reference.is_coupled for reference in self.references)

    def with_graphs(self) -> list[Observations]:
        """The main table and the references that a bridge carries: those that graphs are made of."""
        return [self.main, *(reference.table for reference in self.references if not reference.is_coupled)]

    def starting_from(self, scores: FloatArray) -> Problem:
        """Return the same problem, begun with other scores (n,) of the main rows; offset and scale stay."""
        return replace(self, start=unit(scores))

    def sample(self, size: int, rng: np.random.Generator) -> Problem:
        """Return the problem of all pairs, and of other rows drawn from every table until it has ``size`` of them.

        Coupled references stay whole on the rows of the main table that are drawn.
        """
        paired = [r.main_rows for r in self.references if not r.is_coupled]
        rows = _draw(len(self.main), np.unique(np.concatenate(paired)), size, rng)
        references = []
        for reference in self.references:
            if reference.is_coupled:
                # Paired with every row: those of the rows that are drawn.
                places = np.argsort(reference.main_rows)[rows]
                pairs = replace(
                    reference,
                    paired=reference.paired[places],
                    main_rows=np.arange(len(rows)),
                    reference_rows=reference.reference_rows[places],
                )
            else:
                drawn = _draw(len(reference.table), np.unique(reference.reference_rows), size, rng)
                table, partners = reference.table.take(drawn), np.searchsorted(drawn, reference.reference_rows)
                pairs = replace(
                    reference,
                    table=table,
                    paired=standardise(table.scores)[partners],
                    main_rows=np.searchsorted(rows, reference.main_rows),
                    reference_rows=partners,
                )
            references.append(pairs)
        return replace(self, main=self.main.take(rows), references=tuple(references), start=unit(self.start[rows]))

    def restore(self, on_sphere: FloatArray) -> FloatArray:
        """Put offset and scale of the main predictor back (section 2.1)."""
        return np.asarray(self.offset + self.scale * on_sphere)

    def score(self, labels: RankLabels, *, regression: bool) -> Score:
        """Find the labelled rows among the main rows.

        Raises
        ------
        InputError
            If a label's id is unknown, or ordered pairs come for a regression.
        """
        rows, known = locate(labels.keys, self.main.keys)
        if not known.all():
            unknown = labels.keys[~known]
            raise InputError(
                f"{len(unknown)} labels are for ids that {self.main.name} does not have (first: {str(unknown[0])!r}); "
                "labels are of main rows, so leave the others out."
            )
        if labels.grades is None:
            if regression:
                raise InputError(
                    "Ordered pairs came as labels of a regression, which needs values; give ids and labels."
                )
            return PairedRanking(rows, labels.better, labels.worse)
        return SquaredError(rows, labels.grades) if regression else GradedRanking(rows, labels.grades)


def _draw(rows: int, kept: IndexArray, size: int, rng: np.random.Generator) -> IndexArray:
    """Rows that are kept and others, ``size`` of them or all there are, in their order."""
    others = np.setdiff1d(np.arange(rows), kept, assume_unique=True)
    more = max(0, min(size - len(kept), len(others)))
    return np.sort(np.concatenate([kept, rng.choice(others, more, replace=False)]))


def _pair(main: Observations, reference: Observations) -> Reference:
    """Pair one reference with the main table by id, and say what is wrong with it."""
    rows, known = locate(main.keys, reference.keys)
    # Pairs stand in the order of their ids, so that folds drawn over them do not depend on the order of rows.
    main_rows = np.flatnonzero(known)
    main_rows = main_rows[np.argsort(main.keys[main_rows])]
    reference_rows = rows[main_rows]
    coupled = len(main_rows) == len(main)
    name = reference.name
    if coupled and len(reference) == len(main) and np.array_equal(reference.scores[rows], main.scores):
        raise InputError(
            f"The reference {name} is the main table itself, ids and scores; give another predictor's table."
        )
    if len(main_rows) < LEAST_PAIRS:
        raise InputError(
            f"{name} shares {len(main_rows)} of its {len(reference)} ids with {main.name}, but at least {LEAST_PAIRS} "
            "(better 30 to 200) are needed; check that both tables name their rows alike."
        )
    if len(main_rows) < FEW_PAIRS:
        warnings.warn(
            f"{name} shares only {len(main_rows)} ids with {main.name}; fewer than {FEW_PAIRS} seldom carry a bridge.",
            ManifuseWarning,
            stacklevel=4,
        )
    missing = [table.name for table in (main, reference) if not table.has_graph]
    if not coupled and missing:
        raise InputError(
            f"{name} shares {len(main_rows)} of {len(main)} ids with {main.name}, so a bridge is needed, but "
            f"{' and '.join(missing)} came without features; give them."
        )
    # A coupled reference may vary only on rows that the main table does not have.
    used = reference.scores[rows] if coupled else reference.scores
    constant = bool(is_constant(used[:, None])[0])
    repeats = coupled and abs(float(unit(used) @ unit(main.scores))) > 1.0 - REPEATED
    if constant:
        warnings.warn(f"All scores of {name} are equal; it gets weight 0.", ManifuseWarning, stacklevel=4)
    elif repeats:
        warnings.warn(
            f"{name} repeats the scores of {main.name} up to offset and scale; it gets weight 0.",
            ManifuseWarning,
            stacklevel=4,
        )
    return Reference(
        name=name,
        table=reference,
        paired=standardise(reference.scores)[reference_rows],
        main_rows=main_rows,
        reference_rows=reference_rows,
        is_coupled=coupled,
        is_idle=constant or repeats,
    )


def locate(keys: NDArray[np.str_], among: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
    """Backend of every key in ``among`` and whether it is there at all."""
    order = np.argsort(among)
    places = np.searchsorted(among, keys, sorter=order)
    rows = order[np.minimum(places, len(among) - 1)]
    return rows, np.asarray(among[rows] == keys)
