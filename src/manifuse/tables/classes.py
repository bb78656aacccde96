"""Classes: names of what a classifier knows, and how probabilities of classes become points and come back.

A row of probabilities becomes its log-ratios: the logarithms, less their mean, in k - 1 coordinates that are
orthogonal to each other (Aitchison 1982; Egozcue et al. 2003). So distances and inner products of rows do not depend
on the order of the classes, and the one log-ratio of two classes is their log-odds.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import log_softmax

from manifuse.errors import InputError
from manifuse.grid import many
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray
from manifuse.tables.containers import all_numbers, to_text
from manifuse.tables.id_checks import demand_visible

#: The least probability that is learned of a class, as a share of an equal one.
LEAST = 0.01

#: A whole number as people and programs write it.
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]{0,17}))(?:\.0+)?")

#: What programs write for a blank: R a point between letters, others an underscore.
FOR_BLANK = re.compile(r"(?<=[^\W\d])\.(?=[^\W\d])|_")


@dataclass(frozen=True)
class Classes:
    """Names of k classes, in the order of the columns of a matrix of probabilities.

    Attributes
    ----------
    names : tuple of str
    are_numbers : bool
        Whether they came as numbers.
    """

    names: tuple[str, ...]
    are_numbers: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, names: Any, columns: int, *, name: str) -> Self:
        """Check names of classes.

        Parameters
        ----------
        names : (k,) sequence
        columns : int
            Of the predictions.
        name : str
            Of the table, for messages.

        Raises
        ------
        InputError
            If there is not one name for each column, a name comes twice, is blank or has blanks around it, or there is
            only one.
        """
        came = to_text(names, what=f"The classes of {name}")
        demand_visible(f"The classes of {name}", came)
        texts = tuple(came.tolist())
        if len(texts) != columns:
            raise InputError(
                f"{name} has {many(columns, 'column')} of predictions but {many(len(texts), 'class')}; give one "
                "for each."
            )
        twice = next((each for each in texts if texts.count(each) > 1), None)
        if twice is not None:
            raise InputError(f"{name} has the class {twice!r} twice; give each column a class of its own.")
        if len(texts) < 2:
            raise InputError(f"{name} has one class, {texts[0]!r}; give the probabilities of at least two classes.")
        return cls(texts, all_numbers(names, what=f"The classes of {name}"))

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def contrasts(self) -> FloatArray:
        """Orthogonal contrasts of the classes, shape (k, k - 1); of two classes, one less the other.

        They follow the names in their order, so that the order of the columns does not matter.
        """
        places = np.argsort(np.argsort(names_elsewhere(self.names)))
        return np.asarray(-np.sqrt(2.0) * helmert(len(self)).T[places])

    def log_ratios(self, logarithms: FloatArray) -> FloatArray:
        """Log-ratios (n, k - 1) of logarithms of probabilities, or of decision values, (n, k)."""
        return _times(logarithms, self.contrasts)

    def logarithms(self, log_ratios: FloatArray) -> FloatArray:
        """Logarithms of probabilities (..., k), which sum to 1, from log-ratios (..., k - 1)."""
        return np.asarray(log_softmax(_times(log_ratios, self.contrasts.T) / 2.0, axis=-1))

    def coordinates(self, probabilities: FloatArray) -> FloatArray:
        """Probabilities (..., k) by the contrasts of the classes (..., k - 1), without a logarithm."""
        return probabilities @ self.contrasts

    def probabilities(self, coordinates: FloatArray) -> FloatArray:
        """Undo `coordinates`. What is below `LEAST`, as a share of an equal one, becomes that."""
        equal = 1.0 / len(self)
        found = np.maximum(equal + coordinates @ self.contrasts.T / 2.0, LEAST * equal)
        return np.asarray(found / found.sum(axis=-1, keepdims=True))

    def most_probable(self, probabilities: FloatArray) -> NDArray[np.str_]:
        """The name of the most probable class of each row (n,), from probabilities (n, k)."""
        return np.asarray(np.array(self.names)[probabilities.argmax(axis=1)])

    def places_of(self, names: Any) -> IndexArray:
        """Positions of names among the classes (l,), as `names_elsewhere`; -1 of those that are not there.

        True and False are the classes 1 and 0, if these are all.
        """
        places = {name: place for place, name in enumerate(names_elsewhere(self.names))}
        if places.keys() == {"0", "1"}:
            places |= {"False": places["0"], "True": places["1"]}
        texts = map(str, names)
        return np.array([places.get(each, places.get(_as_whole(each), -1)) for each in texts], dtype=np.intp)

    def same_as(self, others: Self | None) -> bool:
        """Whether others are the same classes, in any order."""
        return others is not None and {*names_elsewhere(self.names)} == {*names_elsewhere(others.names)}

    def spelled_otherwise(self, names: Sequence[str]) -> dict[str, str]:
        """Classes that other ``names`` have, but with other capitals, blanks or composed characters.

        Points between letters and underscores are blanks. Returns the first such name of each class.
        """
        places = self.places_of(names)
        theirs = {
            _folded(each): each for each, place in zip(reversed(names), reversed(places), strict=True) if place < 0
        }
        lacking = [name for place, name in enumerate(self.names) if place not in places]
        return {name: theirs[_folded(name)] for name in lacking if _folded(name) in theirs}

    def from_others(self, others: Self) -> FloatArray:
        """The matrix (k' - 1, k - 1) that makes log-ratios of these classes out of those of other ones.

        Classes that both know keep their log-ratios among each other. Nothing is said of the rest, so that the matrix
        is zero if they have fewer than two in common.
        """
        places = others.places_of(self.names)
        shared = np.flatnonzero(places >= 0)
        if len(shared) < 2:
            return np.zeros((len(others) - 1, len(self) - 1))
        logarithms = others.contrasts[places[shared]] / 2.0
        return np.asarray((logarithms - logarithms.mean(axis=0)).T @ self.contrasts[shared])


def names_elsewhere(names: Collection[str]) -> tuple[str, ...]:
    """Names by which classes are known in other tables: whole numbers without a fraction, if all stay different.

    Programs write names of columns from floats, and numbers of a truth become text without a fraction.
    """
    wholes = tuple(map(_as_whole, names))
    return wholes if len({*wholes}) == len(wholes) else tuple(names)


def replace_classes(had: FloatArray, said: FloatArray, replaced: BoolArray) -> FloatArray:
    """Replace the probabilities of some classes; the others keep theirs.

    Parameters
    ----------
    had, said : (..., k) array
        Probabilities before, and what is said of them, above 0.
    replaced : (k,) array of bool
        The classes that share what the others leave as is said.
    """
    if not replaced.any():
        return had
    left = np.maximum(1.0 - had[..., ~replaced].sum(axis=-1, keepdims=True), 0.0)
    return np.where(replaced, left / said[..., replaced].sum(axis=-1, keepdims=True) * said, had)


def _folded(name: str) -> str:
    """The name of a class in small letters of NFKC, without what is for blanks; whole numbers without a fraction."""
    return _as_whole("".join(FOR_BLANK.sub(" ", unicodedata.normalize("NFKC", name).casefold()).split()))


def _as_whole(name: str) -> str:
    """A whole number without a fraction; any other name as it is."""
    whole = WHOLE.fullmatch(name)
    return whole[1] if whole else name


def _times(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Multiply ``rows`` (..., k) by a matrix (k, c), a column after the other.

    Matrix libraries round a row otherwise if other rows are beside it.
    """
    total = np.zeros((*rows.shape[:-1], matrix.shape[1]))
    for column, line in enumerate(matrix):
        total += rows[..., [column]] * line
    return total
