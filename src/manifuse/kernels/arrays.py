"""The types of arrays that all rooms use, and which entries of a long one are looked at."""

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IndexArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
SparseMatrix = sparse.csr_array


def without_rounding(values: FloatArray) -> FloatArray:
    """Values of about 1 to twelve digits after the point, so that those which differ by rounding alone are equal."""
    return np.asarray(np.round(values, 12))


def never_falls(values: FloatArray, along: FloatArray) -> bool:
    """Whether values (n,) never fall where others (n,) rise; where these are equal, values may be in any order."""
    return bool((np.diff(values[np.lexsort([values, along])]) >= 0).all())


def thinned(count: int, most: int) -> slice:
    """Every k-th of ``count`` things, so that there are at most ``most`` of them."""
    return slice(None, None, -(-count // most))


def drawn(count: int, most: int) -> IndexArray:
    """``most`` of ``count`` things, rising, or all if there are fewer; always the same ones.

    They are drawn at random, so that things which come in a regular order are drawn evenly.
    """
    return np.sort(np.random.default_rng(0).choice(count, min(count, most), replace=False))


def drawn_by_place(places: IndexArray, rows: IndexArray, most: int, rng: np.random.Generator) -> IndexArray:
    """``most`` of some ``rows`` of a table, rising; the same ones if rows come in any order.

    The table's rows have the ``places`` (n,) in an order that they themselves give; see `order_of_rows`.
    """
    in_order = rows[np.argsort(places[rows])]
    return np.sort(in_order[rng.choice(len(rows), min(most, len(rows)), replace=False)])


def order_of_rows(
    rows: IndexArray,
    scores: FloatArray,
    keys: NDArray[np.str_],
    features: FloatArray | None = None,
    by_name: IndexArray | None = None,
) -> IndexArray:
    """Put ``rows`` of a table in the order of their scores; return positions among them.

    Rows with equal scores are in the order of their features, and with equal features in that of their ids. So what is
    drawn in this order does not depend on where rows stand, nor on how ids are spelled.

    Parameters
    ----------
    rows : (r,) array of int
    scores : (n,) or (n, c) array
    keys : (n,) array of str
    features : (n, d) array, optional
    by_name : (d,) array of int, optional
        In which order features are compared; by default as they stand.
    """
    columns = (scores[:, None] if scores.ndim == 1 else scores)[rows]
    order: IndexArray = np.lexsort(columns.T[::-1])
    same = (columns[order[1:]] == columns[order[:-1]]).all(axis=1)
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    if not len(tied):
        # Features may be in a file, and are not read then.
        return order
    among = order[tied]
    beside = np.empty((0, len(among))) if features is None else features[rows[among]].T
    beside = beside if by_name is None else beside[by_name]
    order[tied] = among[np.lexsort((keys[rows[among]], *beside[::-1], *columns[among].T[::-1]))]
    return order
