"""Observations: one predictor's scores on one set of rows. Every table is checked here."""

from collections.abc import Sequence
from copy import copy
from html import escape
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.grid import SHOWN, Grid, as_html
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.records import Saved, read, write
from manifuse.tables.containers import (
    Origin,
    device_of,
    parts_of_frame,
    to_floats,
    to_keys,
)
from manifuse.tables.feature_names import names_of, places_of, warn_of_names
from manifuse.tables.given import given_neighbours
from manifuse.tables.scales import Scale, log_odds, probabilities
from manifuse.tables.validity import valid_rows


class Observations(Saved):
    """One table of one predictor: scores, features and ids of the same rows.

    Rows with equal ids in two tables are the same thing. Ids are compared as text: whole numbers in decimal digits,
    bytes as UTF-8, everything else by ``str``.

    Parameters
    ----------
    predictions : (n,) array, series or tensor of numbers
        The scores of the predictor. Only their order and relative distances matter.
    scale : {"score", "probability"}
        With ``"probability"`` predictions are in [0, 1], are refined as log-odds, and come back in [0, 1].
    features : (n, d) array, data frame or tensor of numbers, optional
        They describe the rows. A table needs them unless all ids are common. Arrays of single or double precision, in
        memory or on disk (``numpy.load(..., mmap_mode="r")``), are not copied, so do not change them.
    ids : (n,) array, series or sequence
        Names of the rows. No id may occur twice.
    neighbours : (n, n) CSR array, or pair of (n, N) arrays, optional
        The nearest neighbours of every row, in place of features, if you already have them. Give distances as from
        scikit-learn's ``KNeighborsTransformer(mode="distance")``, or distances and row numbers as from
        ``kneighbors``. If rows have different numbers of neighbours, the smallest number is used for all rows.
    name : str
        Name of the table in results and messages.
    feature_names : (d,) sequence of str, optional
        Names of the features; by default the column names of a data frame. Rows that come later are matched by these
        names. Features without names go by position.
    invalid : {"refuse", "drop"}
        What to do with rows that have a NaN or infinite score or feature.

    Attributes
    ----------
    scores : (n,) float64 array
        As they came, or log-odds of probabilities.
    table : (n, d) array or None
        The features, in single or double precision. An array that came in one of these is kept without a copy.
    neighbours : Neighbours or None
    device : str or None
        The torch device of features or predictions that came as tensors outside of this machine's memory.
    keys : (n,) array of str
    feature_names : tuple of str or None
    rows : (n,) array of int
        The positions of the rows in the input. They differ from 0 ... n - 1 if rows were dropped.

    Raises
    ------
    InputError
        If lengths differ, ids repeat, or values are not finite numbers.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Observations([0.2, 0.9, 0.4], [[1.0], [2.0], [3.0]], ids=["a", "b", "c"], name="ours")
    Observations('ours': 3 rows, 1 feature)
    """

    def __init__(
        self,
        predictions: Any,
        features: Any = None,
        *,
        ids: Any,
        neighbours: Any = None,
        name: str = "table",
        feature_names: Sequence[str] | None = None,
        scale: Scale = "score",
        invalid: Literal["refuse", "drop"] = "refuse",
    ) -> None:
        if scale not in get_args(Scale):
            raise InputError(f"scale={scale!r} came, but 'score' or 'probability' was expected; choose one.")
        if invalid not in ("refuse", "drop"):
            raise InputError(f"invalid={invalid!r} came, but 'refuse' or 'drop' was expected; choose one.")
        scores = to_floats(predictions, what=f"The scores of {name}", dimensions=1)
        table = None if features is None else to_floats(features, what=f"The features of {name}", dimensions=2)
        keys = to_keys(ids, what=f"The id column of {name}")
        if table is not None and neighbours is not None:
            raise InputError(f"{name} came with features and with neighbours; give one or the other.")
        if len(scores) == 0:
            raise InputError(f"{name} is empty; a table needs at least three rows.")
        for what, length in (("ids", len(keys)), ("feature rows", len(scores if table is None else table))):
            if length != len(scores):
                raise InputError(f"{name} has {len(scores)} scores but {length} {what}; each row needs one of each.")
        if table is not None and table.shape[1] == 0:
            raise InputError(f"The features of {name} have no columns; give some, or leave features out.")
        self.feature_names = names_of(features, feature_names, 0 if table is None else table.shape[1], name=name)
        kept = valid_rows(scores, table, name=name, drop=invalid == "drop")
        whole = len(kept) == len(scores)
        if neighbours is not None and not whole:
            raise InputError(
                f"{name} has NaN or infinite scores, but its neighbours are row numbers, so rows cannot be dropped; "
                "remove these rows from the scores and the neighbours."
            )
        self.name = name
        self.scale: Scale = scale
        self._came: FloatArray = scores[kept]
        self.scores: FloatArray = self._came if scale == "score" else log_odds(self._came, kept, name=name)
        self.table: FloatArray | None = table if table is None or whole else table[kept]
        self.neighbours = None if neighbours is None else given_neighbours(neighbours, len(scores), name=name)
        self.keys: NDArray[np.str_] = keys[kept]
        self.rows: IndexArray = kept
        self.device = device_of(features) or device_of(predictions)
        self._origin = Origin.of(predictions)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        id: str = "id",  # noqa: A002
        score: str = "score",
        drop: Sequence[str] = (),
        name: str = "table",
        scale: Scale = "score",
        invalid: Literal["refuse", "drop"] = "refuse",
    ) -> "Observations":
        """Read a data frame of pandas, polars or any library that narwhals knows.

        Parameters
        ----------
        frame : data frame
            With a column of ids and one of scores. All other columns are features.
        id, score : str
            Names of these columns.
        drop : sequence of str
            Columns to leave out.
        name, scale, invalid
            As of `Observations`.

        Raises
        ------
        InputError
            If a column is missing, or a feature holds anything but numbers.

        Examples
        --------
        >>> import pandas as pd, manifuse as mf
        >>> patients = pd.DataFrame({"patient": ["a", "b", "c"], "risk": [0.2, 0.9, 0.4], "age": [31, 72, 55]})
        >>> mf.Observations.from_frame(patients, id="patient", score="risk", name="clinic")
        Observations('clinic': 3 rows, 1 feature)
        """
        ids, scores, features = parts_of_frame(frame, id=id, score=score, drop=drop, name=name)
        made = cls(scores, features, ids=ids, name=name, scale=scale, invalid=invalid)
        warn_of_names(name, made.feature_names or ())
        return made

    @property
    def has_graph(self) -> bool:
        """Whether the table has features or neighbours, from which a graph can be made."""
        return self.table is not None or self.neighbours is not None

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        width = 0 if self.table is None else self.table.shape[1]
        features = f"{width} feature{'' if width == 1 else 's'}" if width else "no features"
        if self.neighbours is not None:
            features = f"{self.neighbours.indices.shape[1]} neighbours each"
        return f"Observations({self.name!r}: {len(self)} rows, {features})"

    def _repr_html_(self) -> str:
        columns = () if self.table is None else self.table[:SHOWN, :SHOWN].T
        numbers = np.column_stack([self.in_scale(self.scores)[:SHOWN], *columns])
        names = self.feature_names or tuple(map(str, range(SHOWN)))
        texts = [(key, *map("{:.4g}".format, row)) for key, row in zip(self.keys, numbers.tolist(), strict=False)]
        return f"<p>{escape(repr(self))}</p>{as_html(Grid(('id', 'score', *names)[: len(texts[0])], tuple(texts)))}"

    def to_record(self) -> dict[str, Any]:
        """Return what a saved refinement keeps of it: not the neighbours that were given, nor the kind of array."""
        return {
            "name": self.name,
            "scores": self.scores,
            "table": self.table,
            "keys": self.keys,
            "feature_names": write(self.feature_names),
            "scale": self.scale,
        }

    @classmethod
    def from_record(cls, record: Any) -> "Observations":
        """Read a saved table; see `Saved.from_record`."""
        if record.keys() != {"name", "scores", "table", "keys", "feature_names", "scale"}:
            raise ValueError("a table should have name, scores, table, keys, feature_names and scale, and no more")
        made = cls(
            read(FloatArray, record["scores"], "scores"),
            read(FloatArray | None, record["table"], "table"),
            ids=read(NDArray[np.str_], record["keys"], "keys"),
            name=read(str, record["name"], "name"),
            feature_names=read(tuple[str, ...] | None, record["feature_names"], "feature_names"),
        )
        made._set_scale(read(Scale, record["scale"], "scale"))
        return made

    def _set_scale(self, scale: Scale) -> None:
        """Say that the scores are log-odds of probabilities, if they are."""
        if scale != self.scale:
            self.scale, self._came = scale, probabilities(self.scores)

    def take(self, rows: IndexArray) -> "Observations":
        """Return a table of some of the rows."""
        assert self.neighbours is None, "neighbours name all rows"
        table = None if self.table is None else self.table[rows]
        names = self.feature_names
        taken = Observations(self.scores[rows], table, ids=self.keys[rows], name=self.name, feature_names=names)
        taken._set_scale(self.scale)
        return taken

    def arranged_like(self, fitted: "Observations") -> "Observations":
        """Return the same rows with the features of a fitted table in its order, found by their names.

        If one of the two tables has no names, features go by position.

        Raises
        ------
        InputError
            If features are missing, or there are more or fewer of them than in a table without names.

        Warns
        -----
        ManifuseWarning
            If there are features that the fitted table does not have. They are ignored.
        """
        if fitted.table is None:
            return self
        wanted, names = fitted.feature_names, self.feature_names
        if self.table is None or wanted is None or names is None:
            came, width = 0 if self.table is None else self.table.shape[1], fitted.table.shape[1]
            if came != width:
                sides = f"{self.name} came with {came} features, but {fitted.name} was fitted with {width}"
                raise InputError(f"{sides}; give the same columns.")
            return self
        places = places_of(wanted, names, fitted=fitted.name, came=self.name)
        if names == wanted:
            return self
        arranged = copy(self)
        arranged.table = self.table[:, places]
        arranged.feature_names = wanted
        return arranged

    def like_predictions(self, numbers: FloatArray) -> Any:
        """Return ``numbers`` (n,) like `scores`, one per kept row, in library, dtype and scale of what came."""
        return self.like_container(self.in_scale(numbers))

    def like_container(self, numbers: FloatArray, name: str | None = None) -> Any:
        """Return ``numbers`` (n,) in any scale, one per kept row, in library and dtype of what came; name a series."""
        return self._origin.restore(numbers, self.rows, name)

    @property
    def library_of_series(self) -> Any:
        """The library of data frames that the predictions came from; None if they came as an array or tensor."""
        return self._origin.implementation if self._origin.library == "series" else None

    def in_scale(self, numbers: FloatArray) -> FloatArray:
        """Return ``numbers`` (n,) like `scores` in the scale of what came: log-odds as probabilities."""
        if self.scale == "score":
            return numbers
        if numbers is self.scores:
            return self._came
        return probabilities(numbers)
