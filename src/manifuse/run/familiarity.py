"""Familiarity: how near rows that come later are to the fitted rows, and which of their columns are strange."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from manifuse.backends.index import Index
from manifuse.columns.edges import Edges
from manifuse.diffusion.setup import search_order
from manifuse.errors import warn
from manifuse.evidence.one_factor import correlation
from manifuse.grid import figures
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place, thinned
from manifuse.kernels.feature_blocks import means_and_deviations
from manifuse.kernels.sphere import inner, is_constant, on_sphere
from manifuse.tables.drawing_order import places_of
from manifuse.tables.feature_names import columns_said
from manifuse.tables.observations import Observations
from manifuse.tables.turning import exchanged, least_of, warn_of_exchanged

#: A row is familiar if it is as near to a fitted row as this share of the fitted rows are to another. Of large tables,
#: so many rows are measured.
FAMILIAR_SHARE, SPREAD_ROWS = 0.99, 2000

#: Later rows whose columns are compared with those of the fitted rows; of more, every k-th.
COMPARED = 20_000

#: In the fitted rows, a normal column is 0.7 standard deviations away from its mean in the median. A column of later
#: rows is strange from 1.5 on; with few rows, from more.
STRANGE_DEVIATIONS, FEWEST_ROWS = 1.5, 20

#: It is also strange if its mean has moved by so many standard deviations, with few rows by more. Outliers count as
#: this far away.
STRANGE_SHIFT, OUTLIER = 1.0, 4.0

#: What single precision may change of a standardised value.
ROUNDING = 1e-6

#: It is also strange if at least so many rows, and at least this share of them, are so many times as far from the mean
#: as the farthest fitted row.
BEYOND_ROWS, BEYOND_SHARE, BEYOND = 3, 0.02, 1.5

#: A column that has one value in all later rows is named if it has more values than this in the fitted rows. With
#: fewer it may be an hour or a month.
FEW_VALUES = 60

#: Later scores are reversed if they correlate negatively, as clearly as exchanged classes do, with the mean score of
#: so many similar fitted rows. If features say nothing of scores, they do not correlate. To be exchanged, classes must
#: correlate by twice as much more with others.
SIMILAR = 5

#: Later scores are unrelated to features if that correlation is within so many standard errors of 0, and is by this
#: much, and surely, smaller than in the fitted rows.
CHANCE, UNRELATED = 2.0, 0.2


def index_of(main: Observations, *, standardised: bool) -> Index:
    """Index the features of fitted rows."""
    assert main.table is not None, "it has features"
    return Index.of(main.table, search_order(main), standardised=standardised, name=main.name)


@dataclass(frozen=True, eq=False)
class Familiarity:
    """Where the fitted rows are, so that later rows can be compared with them.

    Attributes
    ----------
    index : Index
        Of the fitted rows, standardised.
    reach : float
        Distance up to which a row is familiar; at twice the distance it is strange.
    widest : (d,) array
        Largest deviation of the fitted rows in every column, in standard deviations.
    """

    index: Index
    reach: float
    widest: FloatArray

    @classmethod
    def of(cls, main: Observations, index: Index | None = None) -> Self | None:
        """Measure the fitted rows, with their ``index`` if it is standardised.

        It is None if they have no features, or are all equal.
        """
        table = main.table
        if table is None or not means_and_deviations(table)[1].any():
            return None
        if index is None or not index.scaling.standardised:
            index = index_of(main, standardised=True)
        measured = table[drawn_by_place(places_of(main), np.arange(len(table)), SPREAD_ROWS, np.random.default_rng(0))]
        nearest = np.sqrt(index.nearest(measured, 2)[0][:, 1])
        # Where most rows have a double, nearest distances are 0; then half of the root mean square distance is near.
        half = float(np.sqrt(np.count_nonzero(index.scaling.deviations) / 2.0))
        reach = max(float(np.quantile(nearest, FAMILIAR_SHARE)), half)
        widest = np.abs(index.rows).max(axis=0)
        return cls(index, reach, widest[np.argsort(index.order.columns)])

    def warn_of_strange(self, new: Observations) -> bool:
        """Warn of columns of later rows that are far from the fitted ones, and return whether there are such.

        Parameters
        ----------
        new : Observations
            With the features of the fitted rows, in their order.

        Warns
        -----
        ManifuseWarning
            If there are such columns; it names them.
        """
        assert new.table is not None, "features were not compared"
        rows = self.index.scaling.apply(new.table[thinned(len(new), COMPARED)])
        deviations = strange_by(rows, self.widest)
        strange = np.flatnonzero(deviations)
        if len(strange):
            warn("strange_columns", _of_strange(new, strange, deviations[strange]))
        beyond = np.where(deviations > 0, 0.0, self._beyond(rows))
        moved = np.flatnonzero(beyond)
        if len(moved):
            columns = columns_said(new.feature_names, moved[np.argsort(-beyond[moved], kind="stable")].tolist())
            fitted = "all" if beyond.max() == 1 else f"{beyond.max():.1%} of the"
            warn(
                "strange_columns",
                f"{new.name} differs from the fitted rows in {columns}: a median is beyond {fitted} fitted values; "
                "check the units.",
            )
        equal = np.flatnonzero((np.ptp(rows, axis=0) == 0) & (deviations == 0)) if len(rows) >= FEWEST_ROWS else ()
        filled = [column for column in map(int, equal) if len(np.unique(self.index.column(column))) > FEW_VALUES]
        if filled:
            warn(
                "filled_columns",
                f"{new.name} has one value in all rows of {columns_said(new.feature_names, filled)}, but the fitted "
                "rows have many; check whether values were lost.",
            )
        return bool(len(strange) or len(moved) or filled)

    def _beyond(self, rows: FloatArray) -> FloatArray:
        """Shares of the fitted values beyond which medians of standardised rows (q, d) are; 0 if they are usual.

        A skewed column may change its unit by a factor of a thousand and stay within a standard deviation of its mean.
        So its median counts, where it would be if the column were normal. Values that differ by rounding are equal.
        """
        if len(rows) < FEWEST_ROWS:
            return np.zeros(rows.shape[1])
        fitted, order = self.index.rows, self.index.order.columns
        medians = np.median(rows, axis=0)[order]
        rounding = ROUNDING * np.maximum(1.0, np.abs(medians))
        smaller = (fitted < medians - rounding).mean(axis=0) + (fitted <= medians + rounding).mean(axis=0)
        beyond = np.maximum(smaller, 2.0 - smaller)[np.argsort(order)] / 2.0
        return np.where(beyond > ndtr(STRANGE_SHIFT + 3.0 / np.sqrt(len(rows))), beyond, 0.0)

    def warn_of_scores(self, new: Observations, main: Observations, *, are_alike: bool = True) -> None:
        """Warn of later scores that run against those of similar fitted rows, are of other classes, or unrelated.

        Parameters
        ----------
        new : Observations
            With the features of the fitted rows, in their order.
        main : Observations
            The fitted rows.
        are_alike : bool
            Whether the features are like fitted ones; others do not show whether scores are unrelated to them.

        Warns
        -----
        ManifuseWarning
        """
        if min(len(new), len(main)) < FEWEST_ROWS:
            return
        assert new.table is not None, "features were not compared"
        rows = thinned(len(new), SPREAD_ROWS)
        similar = self.index.nearest(new.table[rows], SIMILAR)[1]
        least, expected = least_of(len(similar)), main.scores[similar].mean(axis=1)
        alignment = inner(on_sphere(new.scores[rows]), on_sphere(expected))
        if new.classes is not None and main.classes is not None:
            names = main.classes.names
            sides = new.in_scale(new.scores)[rows], main.in_scale(main.scores)[similar].mean(axis=1)
            fits = exchanged(sides[0][:, new.classes.places_of(names)], sides[1], 2.0 * least)
            said = f"The probabilities of {new.name} are those of other classes in similar fitted rows"
            if warn_of_exchanged(said, names, fits, "the names of its columns, and the order of the features"):
                return
        elif alignment < -least:
            warn(
                "reversed_scores",
                f"The scores of {new.name} run against those of similar fitted rows (correlation {alignment:.2f}); "
                "check their sign, and the order of the features.",
            )
            return
        if not are_alike or alignment > CHANCE / np.sqrt(len(similar)) or is_constant(new.scores[rows]).all():
            return
        usual = self._usual_alignment(main)
        if usual - alignment > UNRELATED + 3.0 / np.sqrt(len(similar)):
            said = "probabilities" if new.classes is not None else "scores"
            warn(
                "unrelated_scores",
                f"The {said} of {new.name} have nothing to do with those of similar fitted rows (correlation "
                f"{alignment:.2f}, of fitted rows {usual:.2f}); check that {said} and features are of the same rows.",
            )

    def _usual_alignment(self, main: Observations) -> float:
        """Correlation of fitted scores with the mean score of other similar fitted rows."""
        assert main.table is not None, "it has features"
        rows = thinned(len(main), SPREAD_ROWS)
        similar = self.index.nearest(main.table[rows], SIMILAR + 1)[1]
        # The row itself is one of them, or a double that cannot be told from it.
        own = main.scores[rows]
        return inner(on_sphere(own), on_sphere(main.scores[similar].mean(axis=1) - own / (SIMILAR + 1)))

    def at(self, features: FloatArray, edges: Edges, index: Index | None) -> FloatArray:
        """Familiarity of later rows, shape (q,): 1 up to `reach`, 0 from twice of it on.

        Parameters
        ----------
        features : (q, d) array
        edges : Edges
            Their edges, which know the nearest fitted rows if ``index``, by which they were found, is ours.
        index : Index or None
        """
        nearest = edges.nearest if index is self.index else np.sqrt(self.index.nearest(features, 1)[0][:, 0])
        return np.asarray(np.clip(2.0 - nearest / self.reach, 0.0, 1.0))


def strange_by(rows: FloatArray, widest: FloatArray) -> FloatArray:
    """By how much columns of standardised rows (q, d) are strange, in standard deviations; 0 if they are usual.

    ``widest`` as in `Familiarity`. It is the median deviation or, if that is usual, the shift of the mean, or the
    largest deviation if too many rows are beyond all fitted ones.
    """
    median, error = np.median(np.abs(rows), axis=0), 3.0 / np.sqrt(len(rows))
    if len(rows) < FEWEST_ROWS:
        return np.where(median > np.maximum(STRANGE_DEVIATIONS + error, 1.1 * widest), median, 0.0)
    shift = np.abs(np.clip(rows, -OUTLIER, OUTLIER).mean(axis=0))
    beyond = np.count_nonzero(np.abs(rows) > BEYOND * widest, axis=0) >= max(BEYOND_ROWS, BEYOND_SHARE * len(rows))
    shift = np.where(shift > STRANGE_SHIFT + error, shift, np.where(beyond, np.abs(rows).max(axis=0), 0.0))
    return np.where(median > STRANGE_DEVIATIONS + error, median, shift)


def warn_of_reference(reference: str, new: str, looked_up: FloatArray, predicted: FloatArray) -> None:
    """Warn of a reference if its scores of later rows run against what was ``predicted`` of them, or are far from it.

    Parameters
    ----------
    reference, new : str
        Names, for the message.
    looked_up, predicted : (q, c) array
        Scores of later rows that the reference knows, standardised by its pairs.

    Warns
    -----
    ManifuseWarning
        If they correlate surely below 0, or differ as `strange_by` says of columns.
    """
    found = correlation(looked_up, predicted)
    strange = strange_by(looked_up - predicted, np.full(predicted.shape[1], np.inf)).max()
    how = f"differ from what is predicted of them by up to {figures(strange, 3)} standard deviations"
    if found < -3.0 / np.sqrt(len(predicted)):
        how = f"run against what is predicted of them (correlation {found:.2f})"
    elif not strange:
        return
    warn(
        "strange_reference",
        f"The scores of {reference} for rows of {new} {how}; check that they come from the same model, and check "
        "their sign and units.",
    )


def _of_strange(new: Observations, strange: IndexArray, deviations: FloatArray) -> str:
    """Say which columns are strange, the strangest first."""
    order = strange[np.argsort(-deviations, kind="stable")]
    return (
        f"{new.name} differs from the fitted rows in {columns_said(new.feature_names, order.tolist())}, by up to "
        f"{figures(deviations.max(), 3)} standard deviations; check the units. Rows unlike all fitted ones keep their "
        "own order; others are refined as ever, which may do harm if much has changed."
    )
