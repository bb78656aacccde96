"""Observations: one predictor's scores on one set of rows. Every table is checked here."""

from collections.abc import Mapping, Sequence
from copy import copy
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.grid import SHOWN, Grid, as_html, figures, many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.records import Saveable, read, write
from manifuse.tables.classes import Classes
from manifuse.tables.containers import demand_one_order, device_of, to_floats, to_keys
from manifuse.tables.feature_names import names_of
from manifuse.tables.frame_reading import ClassColumns, observe_frame
from manifuse.tables.origin import Origin
from manifuse.tables.scales import Scale, checked, checked_scale, from_points, points_of
from manifuse.tables.straightening import Straightening, straightened_by
from manifuse.tables.table_checks import demand_one_length, valid_rows
from manifuse.tables.table_columns import TableColumns

#: What to do about a matrix where scores were expected.
MATRIX = "reshape it, or give `classes`, a name for each column, if they are probabilities of classes"

#: What a saved refinement keeps of a table.
SAVED = ("name", "came", "table", "keys", "feature_names", "scale", "straightening", "classes", "called")


class Observations(Saveable):
    """One table of one predictor: scores or probabilities of classes, features and ids of the same rows.

    Rows with equal ids in two tables are the same thing. Ids are compared as text: whole numbers in decimal digits,
    bytes as UTF-8, everything else by ``str``.

    Parameters
    ----------
    predictions : (n,) array, series or tensor of numbers, or (n, k) array, data frame or tensor
        The scores of the predictor, of which only order and relative distances matter; if a few are far from the
        others, only the order. Or its probabilities of k classes, as ``predict_proba`` gives them.
    scale : {"score", "probability", "logits"}, optional
        Scores as ``"probability"`` are in [0, 1], are refined as log-odds, and come back in [0, 1]. Classes have
        probabilities unless they are ``"logits"``, that is decision values; both come back as probabilities.
    classes : (k,) sequence, optional
        Names of the classes, one for each column of ``predictions``, such as ``classes_`` of a scikit-learn
        classifier.
    features : (n, d) array, data frame or tensor of numbers, optional
        They describe the rows. The main table needs them unless every reference knows all its rows; references do not.
        Arrays of single or double precision, in memory or on disk (``numpy.load(..., mmap_mode="r")``), are not copied
        before they are fitted, and those on disk not even then; so do not change them.
    ids : (n,) array, series or sequence
        Names of the rows. No id may occur twice.
    name : str
        Name of the table in results and messages.
    feature_names : (d,) sequence of str, optional
        Names of the features; by default the column names of a data frame. Rows that come later are matched by these
        names. Features without names go by position.
    invalid : {"refuse", "drop"}
        What to do with rows that have a NaN or infinite score or feature.

    Attributes
    ----------
    scores : (n,) or (n, k - 1) float64 array
        As they came, or log-odds of probabilities; of classes, their log-ratios.
    came : (n,) or (n, k) float64 array
        As they came; rows of probabilities that were rounded are divided by their sums.
    scale : {"score", "probability", "logits"}
    straightening : Straightening or None
        How a refinement brought `scores` to normal scores, if it did.
    classes : Classes or None
    table : (n, d) array or None
        The features, in single or double precision. An array that came in one of these is kept without a copy. Those
        of a large table in a file are `UnreadFeatures`, of which rows are taken as of an array.
    device : str or None
        The torch device of features or predictions that came as tensors outside of this machine's memory.
    keys : (n,) array of str
    feature_names : tuple of str or None
    ids : (n,) array or series
        As they came if they were a series of the library of the predictions (in narwhals) or an array of whole
        numbers, else ``keys``.
    rows : (n,) array of int
        The positions of the rows in the input: 0 ... n - 1, unless rows were dropped.
    called : TableColumns
        What its columns are called.
    origin : Origin
        What kind of array the predictions were.

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
        name: str = "table",
        feature_names: Sequence[str] | None = None,
        scale: Scale | None = None,
        classes: Any = None,
        invalid: Literal["refuse", "drop"] = "refuse",
    ) -> None:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"name={name!r} came, but text was expected; name the table.")
        scale = checked_scale(scale, has_classes=classes is not None)
        if invalid not in ("refuse", "drop"):
            raise InputError(f"invalid={invalid!r} came, but 'refuse' or 'drop' was expected; choose one.")
        dimensions, remedy = (1, MATRIX) if classes is None else (2, "reshape it")
        scores = to_floats(predictions, what=f"The scores of {name}", dimensions=dimensions, remedy=remedy)
        table = None if features is None else to_floats(features, what=f"The features of {name}", dimensions=2)
        keys = to_keys(ids, what=f"The id column of {name}")
        demand_one_order(f"Scores, features and ids of {name}", predictions, features, ids)
        demand_one_length(name, len(scores), len(keys), len(scores if table is None else table))
        if table is not None and table.shape[1] == 0:
            raise InputError(f"The features of {name} have no columns; give some, or leave features out.")
        self.feature_names = names_of(features, feature_names, 0 if table is None else table.shape[1], name=name)
        kept = valid_rows(scores, table, name=name, drop=invalid == "drop", feature_names=self.feature_names)
        whole = len(kept) == len(scores)
        self.name = name
        self.scale: Scale = scale
        self.classes = None if classes is None else Classes.of(classes, scores.shape[1], name=name)
        self.came: FloatArray = checked(scores[kept], scale, self.classes, kept, name=name)
        self.straightening: Straightening | None = None
        self.scores: FloatArray = points_of(self.came, scale, self.classes)
        self.table: FloatArray | None = table if table is None or whole else table[kept]
        self.keys: NDArray[np.str_] = keys[kept]
        self.rows: IndexArray = kept
        self.device = device_of(features) or device_of(predictions)
        self.called = TableColumns.of_classes(() if self.classes is None else self.classes.names)
        self.origin = Origin.of(predictions)
        self.ids = self.origin.keep_ids(ids, self.keys, kept)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        id: str = "id",  # noqa: A002
        score: str = "score",
        drop: Sequence[str] = (),
        name: str = "table",
        scale: Scale | None = None,
        classes: ClassColumns = None,
        invalid: Literal["refuse", "drop"] = "refuse",
    ) -> "Observations":
        """Read a data frame of pandas, polars or any library that narwhals knows.

        Parameters
        ----------
        frame : data frame
            With a column of ids and one of scores, or one for each class. All other columns are features, but those
            that number the rows.
        id, score : str
            Names of these columns.
        drop : sequence of str
            Columns to leave out.
        classes : str, sequence of str, or mapping of str to str, optional
            The columns with the probabilities of classes, in place of ``score``: their names; a mapping of the column
            to the name of its class; or a regular expression whose group is the name of the class, ``"p_(.*)"``.
        name, scale, invalid
            As of `Observations`.

        Raises
        ------
        InputError
            If a column is missing, a feature holds anything but numbers, or features and score sum to 1 in every row,
            as probabilities of classes do.

        Examples
        --------
        >>> import pandas as pd, manifuse as mf
        >>> patients = pd.DataFrame({"patient": ["a", "b", "c"], "risk": [0.2, 0.9, 0.4], "age": [31, 72, 55]})
        >>> mf.Observations.from_frame(patients, id="patient", score="risk", name="clinic")
        Observations('clinic': 3 rows, 1 feature)
        """
        return observe_frame(
            cls,
            frame,
            id=id,
            score=score,
            drop=drop,
            name=name,
            classes=classes,
            scale=scale,
            invalid=invalid,
        )

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        width = 0 if self.table is None else self.table.shape[1]
        features = many(width, "feature") if width else "no features"
        classes = "" if self.classes is None else f"{len(self.classes)} classes, "
        return f"Observations({self.name!r}: {many(len(self), 'row')}, {classes}{features})"

    def _repr_html_(self) -> str:
        columns = () if self.table is None else self.table[:SHOWN, :SHOWN].T
        numbers = np.column_stack([self.in_scale(self.scores)[:SHOWN], *columns])
        names = self.feature_names or tuple(map(str, range(SHOWN)))
        texts = [
            (key, *(figures(each, 4) for each in row)) for key, row in zip(self.keys, numbers.tolist(), strict=False)
        ]
        heads = ("id", *(("score",) if self.classes is None else self.classes.names), *names)[: 1 + numbers.shape[1]]
        return f"<p>{escape(repr(self))}</p>{as_html(Grid(heads, tuple(texts)))}"

    def to_record(self) -> dict[str, Any]:
        """Return what a saved refinement keeps of it: not the kind of array."""
        return {name: write(getattr(self, name)) for name in SAVED}

    @classmethod
    def from_record(cls, record: Any) -> "Observations":
        """Read a saved table; see `Saveable.from_record`."""
        classes = read(Classes | None, record["classes"])
        given = {name: record[name] for name in ("name", "feature_names", "scale")}
        names = None if classes is None else classes.names
        made = cls(record["came"], record["table"], ids=record["keys"], classes=names, **given)
        made.called, made.classes = read(TableColumns, record["called"]), classes
        return straightened_by(made, read(Straightening | None, record["straightening"]))

    def with_own_features(self) -> "Observations":
        """Return the same table with a copy of its features, row by row, unless they are on disk."""
        made = copy(self)
        made.table = self.table if self.table is None or isinstance(self.table, np.memmap) else self.table.copy()
        return made

    @property
    def is_unread(self) -> bool:
        """Whether the features are in a file, and are read of the rows that are taken."""
        return not (self.table is None or isinstance(self.table, np.ndarray))

    def take(self, rows: IndexArray) -> "Observations":
        """Return a table of some of the rows."""
        taken = copy(self)
        taken.table = None if self.table is None else self.table[rows]
        taken.scores, taken.came, taken.keys = self.scores[rows], self.came[rows], self.keys[rows]
        taken.rows, taken.device, taken.ids = np.arange(len(rows)), None, taken.keys
        taken.origin = Origin.of(taken.came)
        return taken

    def followed_by(self, more: "Observations") -> "Observations":
        """Return a table of these rows and, after them, those of a table of the same predictor and features."""
        made = copy(self)
        came = more.came
        if self.classes is not None and more.classes is not None:
            came = came[:, more.classes.places_of(self.classes.names)]
        made.scores, made.came = np.concatenate([self.scores, more.scores]), np.concatenate([self.came, came])
        made.keys = np.append(self.keys, more.keys)
        made.table = None if self.table is None or more.table is None else np.vstack([self.table, more.table])
        made.rows, made.device = np.arange(len(made.scores)), None
        made.origin, made.ids = Origin.of(made.came), made.keys
        return made

    def like_predictions(self, numbers: FloatArray) -> Any:
        """Return ``numbers`` like `scores`, one per kept row, in library, dtype and scale of what came."""
        return self.like_container(self.in_scale(numbers))

    def like_container(self, numbers: FloatArray, name: str | None = None) -> Any:
        """Return numbers (n,) or (n, k), one row per kept row, in library and dtype of what came; name a series."""
        return self.origin.restore(numbers, self.rows, name)

    def frame_of(self, columns: Mapping[str, Any], library: Any = None) -> Any:
        """Return columns, one entry per kept row, as a data frame with the index and in the library of what came.

        If it came as arrays, the frame is of polars; ``library`` overrules this.
        """
        return self.origin.frame(columns, self.rows, library)

    def in_scale(self, numbers: FloatArray) -> FloatArray:
        """Return ``numbers`` like `scores` in the scale of what came: log-odds and log-ratios as probabilities."""
        if numbers is self.scores and self.scale != "logits":
            return self.came
        if self.straightening is not None:
            return self.straightening.undo(numbers)
        return from_points(numbers, self.scale, self.classes)
