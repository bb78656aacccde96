"""Like the rest: whether chosen rows are like all rows, but for chance."""

from collections.abc import Sequence

import numpy as np

from manifuse.columns.view import View
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.feature_blocks import means_and_deviations

#: Chosen rows are not like the rest if the mean of a column is so many standard errors away, and more with many
#: columns; means differ by rounding by this many deviations.
UNLIKE, SAME = 3.0, 1e-9

#: Values (q, k), and whether each row was chosen (q,).
Part = tuple[FloatArray, BoolArray]


def parts_of(rows: View, chosen: BoolArray) -> list[Part]:
    """Features, own scores, and how far these are from their median, as if the middle or the ends were chosen.

    Of classes, also how far all of a row's scores are, as if those that are least sure were chosen.
    """
    own = rows["own"]
    away = own - np.median(own, axis=0)
    # Apart, because features may be large, and are not copied.
    parts = [rows.features, own, np.abs(away)]
    if own.shape[1] > 1:
        parts.append(np.linalg.norm(away, axis=1, keepdims=True))
    return [(values, chosen) for values in parts]


def pairs_are_like_rest(rows: View, pulls: FloatArray) -> bool:
    """Whether rows that a reference with a pull (m,) above 0 knows are like all rows."""
    return have_means_of_all(parts_of(rows, np.asarray(rows.known[:, pulls > 0].any(axis=1))))


def have_means_of_all(parts: Sequence[Part]) -> bool:
    """Whether chosen rows have the means of all, as far as chance explains in so many columns."""
    count = sum(values.shape[1] for values, _ in parts)
    return all(_has_means_of_all(values, chosen, count) for values, chosen in parts)


def _has_means_of_all(values: FloatArray, chosen: BoolArray, count: int) -> bool:
    few = int(chosen.sum())
    if few in (0, len(chosen)):
        return True
    error = np.sqrt(max(1.0 - few / len(chosen), 0.0) / few)
    most = (UNLIKE + np.sqrt(2.0 * np.log(count))) * error + SAME
    means, deviations = means_and_deviations(values)
    with np.errstate(over="ignore"):
        away = np.abs(means_and_deviations(values[chosen])[0] - means)
    # A column that is constant has means that differ by rounding alone.
    return not ((deviations > 0) & (away > most * deviations)).any()
