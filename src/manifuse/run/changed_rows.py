"""Rows that come again: which of them changed since the fit, and whether later scores are in other units."""

import numpy as np
import scipy.stats

from manifuse.errors import warn
from manifuse.grid import figures
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray
from manifuse.run.familiarity import FEWEST_ROWS, strange_by
from manifuse.tables.level import Level
from manifuse.tables.observations import Observations
from manifuse.tables.table_checks import all_alike

#: Numbers are the same up to this share of their usual distance from the median of their column, or of their size.
SAME = 1e-9

#: Later scores are strange, too, if they vary by less than this share of what the fitted ones do.
NARROW = 0.1


def changed_rows(new: Observations, main: Observations, rows: IndexArray, known: BoolArray) -> BoolArray:
    """Find rows that changed since the fit (q,); parameters as of `find_changed`, which also warns."""
    found = known.copy()
    if not known.any():
        return found
    came = new.came
    if main.classes is not None and new.classes is not None:
        came = came[:, new.classes.places_of(main.classes.names)]
    # As they came, because logarithms make much of what single precision loses.
    found[known] = _differ(came[known], main.came, rows[known], by_size=main.straightening is not None)
    table = _features_as_in(main, new)
    if table is not None and main.table is not None:
        found[known] |= _differ(table[known], main.table, rows[known])
    return found


def _differ(now: FloatArray, fitted: FloatArray, rows: IndexArray, *, by_size: bool = False) -> BoolArray:
    """Whether rows (q,) or (q, d) differ from these ``rows`` of the fitted ones (n,) or (n, d).

    Numbers do not differ if one side had them in single precision, or as text of that, or if the difference is but
    rounding: of what is usual in their column or, ``by_size``, of each number, where these span many powers of ten.
    """
    now, fitted = now.reshape(len(now), -1), fitted.reshape(len(fitted), -1)
    before = fitted[rows]
    with np.errstate(over="ignore"):
        differs = (now != before) & (now != before.astype(np.float32)) & (now.astype(np.float32) != before)
        differs[differs] = _differ_as_text(now[differs], before[differs]) & _differ_as_text(
            before[differs], now[differs]
        )
    # Only of columns in which a number differs, all fitted rows are read.
    columns = np.flatnonzero(differs.any(axis=0))
    before, now = before[:, columns], now[:, columns]
    usual = np.abs(before) if by_size else _usual_distances(fitted[:, columns])
    return np.asarray((differs[:, columns] & (np.abs(now - before) > SAME * usual)).any(axis=1))


def _usual_distances(columns: FloatArray) -> FloatArray:
    """Median distance of numbers from the median of their column, without those that are equal to it (d,).

    A few numbers that are far larger than the others do not change it. It is 0 if all are equal.
    """
    with np.errstate(over="ignore"):
        distances = np.abs(columns - np.median(columns, axis=0))
    return np.array([np.median(each[each > 0]) if each.any() else 0.0 for each in distances.T])


def _differ_as_text(numbers: FloatArray, exact: FloatArray) -> BoolArray:
    """Whether numbers (q,) are other ones than the shortest texts of ``exact`` ones (q,) in single precision."""
    single = exact.astype(np.float32)
    differs: BoolArray = numbers.astype(np.float32) != single
    near = np.flatnonzero(~differs)
    differs[near] = numbers[near] != single[near].astype(np.str_).astype(np.float64)
    return differs


def _features_as_in(main: Observations, new: Observations) -> FloatArray | None:
    """Features of later rows in the order of the fitted table; None if one of the two lacks some."""
    if new.table is None or main.table is None:
        return None
    names, wanted = new.feature_names, main.feature_names
    if names is None or wanted is None or names == wanted:
        return new.table if new.table.shape[1] == main.table.shape[1] else None
    places = {name: place for place, name in enumerate(names)}
    return new.table[:, [places[name] for name in wanted]] if set(wanted) <= places.keys() else None


def find_changed(new: Observations, main: Observations, rows: IndexArray, known: BoolArray) -> BoolArray:
    """Find rows that changed since the fit, and warn of them.

    Parameters
    ----------
    new, main : Observations
        Rows to refine (q), and the fitted rows. Features are compared by their names.
    rows : (q,) array of int
        The fitted row of each, where it is ``known``.
    known : (q,) array of bool
        Whether it was fitted.

    Returns
    -------
    (q,) array of bool
        Whether the row was fitted with another score or other features.

    Warns
    -----
    ManifuseWarning
    """
    found = changed_rows(new, main, rows, known)
    if changed := np.count_nonzero(found):
        first = str(new.keys[found.argmax()])
        warn(
            "changed_rows",
            f"Rows of {new.name} were fitted with other scores or features ({changed:,}, the first is {first!r}); "
            "they are refined anew from what they bring, as later rows are.",
        )
    return found


def warn_of_units(new: Observations, main: Observations, known: BoolArray) -> None:
    """Warn of scores in other units than the fitted ones; ``known`` (q,) are rows that were fitted as they are now."""
    units = Level.of(main.scores)
    scores, fitted = (np.atleast_2d(units.apply(each.scores).T).T for each in (new, main))
    later, largest = scores[~known], np.abs(fitted).max(axis=0)
    came = new.scores[~known]
    if len(later) >= FEWEST_ROWS and (came == came[0]).all():
        warn(
            "equal_scores",
            f"{all_alike(new, f' in {len(later):,} new or changed rows')}; check the predictor.",
        )
    elif len(later) and (strange := float(strange_by(later, largest).max())):
        warn(
            "strange_scores",
            f"The scores of {new.name} differ from the fitted ones by {figures(strange, 3)} standard deviations; "
            "check the units, and whether these rows are like the fitted ones.",
        )
    elif len(later) >= FEWEST_ROWS and (share := _share_of_spread(later, fitted)) < NARROW:
        warn(
            "strange_scores",
            f"The scores of {new.name} in new or changed rows vary by {share:.2g} of what the fitted ones do; check "
            "the units, and whether these rows are like the fitted ones.",
        )


def _share_of_spread(later: FloatArray, fitted: FloatArray) -> float:
    """By what share of the fitted scores (n, k) later ones (q, k) vary, in the column where it is largest.

    They vary by their standard deviation or, if that shares more, by the range of their middle half: a few scores that
    are much larger are no other units. It is infinite if half of the fitted scores are equal.
    """
    shares = []
    for spread in (np.std, scipy.stats.iqr):
        before, now = spread(fitted, axis=0), spread(later, axis=0)
        shares.append(np.divide(now, before, out=np.full(len(now), np.inf), where=before > 0).max())
    return float(max(shares))
