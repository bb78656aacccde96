"""Data frames of refined rows: those of pandas, polars and any other library that narwhals knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from manifuse.columns.refined import Refined
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.containers import frame_of
from manifuse.tables.feature_names import warn_of_further
from manifuse.tables.observations import Observations
from manifuse.tables.output import refined_columns

#: Columns of refined rows, beside the ids.
WRITTEN = ("score", "predicted", "original", "support", "error")

#: Refines a table, in its own scale.
Apply = Callable[[Observations], Refined]

#: Names of the columns of probabilities, or by these names those of the classes.
Named = Sequence[str] | Mapping[str, str] | None


def frame_of_refined(main: Observations, refined: Refined, library: Any) -> Any:
    """Return a data frame of refined rows, in the scale of their table; see `Refinement.to_frame`."""
    shown, classes = refined.in_scale_of(main), columns_of_classes(main, None)
    columns = refined_columns(
        main.keys, main.in_scale(main.scores), shown.scores, shown.support, shown.errors, classes
    )
    return frame_of({name: each.tolist() for name, each in columns.items()}, library or main.library_of_series)


def columns_of_classes(fitted: Observations, named: Named) -> dict[str, str]:
    """The name of each class by that of its column: as named, or else the classes' own; empty of scores."""
    if fitted.classes is None:
        return {}
    if isinstance(named, Mapping):
        return dict(named)
    names = fitted.classes.names if named is None else tuple(named)
    return dict(zip(names, names, strict=True))


@dataclass(frozen=True, eq=False)
class LaterFrame:
    """A frame of later rows, and which of its columns are what.

    Attributes
    ----------
    table : narwhals data frame
    fitted : Observations
        The fitted table.
    id : str
    scores, features : tuple of str
    classes : mapping of str to str
        The name of the class in each column of ``scores``; empty of scores.
    """

    table: nw.DataFrame[Any]
    fitted: Observations
    id: str
    scores: tuple[str, ...]
    features: tuple[str, ...]
    classes: Mapping[str, str]

    @classmethod
    def of(cls, frame: Any, fitted: Observations, names: tuple[str, str], classes: Named = None) -> Self:
        """Find the columns of a frame.

        Parameters
        ----------
        frame : data frame
            Of pandas, polars, or any library that narwhals knows.
        fitted : Observations
            The fitted table, whose features are looked for.
        names : tuple of two str
            Of the columns of ids and of scores.
        classes : sequence of str, or mapping of str to str, or None
            As of `Refinement.apply`.

        Raises
        ------
        InputError
            If it is no data frame, or lacks a column.
        """
        try:
            table = nw.from_native(frame, eager_only=True)
        except TypeError:
            raise InputError(
                f"{type(frame).__name__} came where Observations or a data frame was expected; give one of these."
            ) from None
        known = columns_of_classes(fitted, classes)
        (key, *score), there, wanted = names, tuple(table.columns), fitted.feature_names
        scores = tuple(known or score)
        features = tuple(name for name in there if name not in (key, *scores)) if wanted is None else wanted
        if fitted.table is None:
            features = ()
        missing = [name for name in (key, *scores, *features) if name not in there]
        if missing:
            remedy = f"name the columns of ids and scores with id= and {'classes' if known else 'score'}="
            raise InputError(
                f"The frame has no {missing[0]!r} (it has: {', '.join(map(str, there[:10]))}); "
                f"{remedy if missing[0] in (key, *scores) else 'give it'}."
            )
        return cls(table, fitted, key, scores, features, known)

    def observed(self) -> Observations:
        """Check the rows."""
        table = self.table
        predictions = table.select(list(self.scores)) if self.classes else table[self.scores[0]]
        return Observations(
            predictions.to_native(),
            table.select(list(self.features)).to_native() if self.features else None,
            ids=table[self.id].to_native(),
            name="the frame",
            scale=self.fitted.scale,
            classes=list(self.classes.values()) or None,
        )

    def warn_of_further(self) -> None:
        """Warn of columns that are ignored."""
        if self.features:
            further = [name for name in self.table.columns if name not in (self.id, *self.scores, *self.features)]
            warn_of_further(further, fitted=self.fitted.name, came="The frame")


def apply_to_frame(apply: Apply, frame: Any, later: LaterFrame, *, errors: bool) -> Any:
    """Refine the rows of a frame.

    Parameters
    ----------
    apply : callable
    frame : data frame
    later : LaterFrame
        Its columns.
    errors : bool
        Whether there are standard errors.

    Returns
    -------
    data frame
        Of the same library, with the ids in their column, and the columns of `refined_columns`.

    Raises
    ------
    InputError
        If a column has a name that a refined column has.
    """
    taken = next((name for name in (later.id, *later.classes) if name in WRITTEN), None)
    if taken is not None:
        what = "The ids are" if taken == later.id else "A class is"
        raise InputError(f"{what} in a column {taken!r}, a name that a refined column has; rename it.")
    later.warn_of_further()
    nothing: FloatArray = np.empty((0, len(later.classes)) if later.classes else 0)
    original, applied = nothing, Refined(nothing, np.empty(0), np.empty(0) if errors else None)
    if len(later.table):
        new = later.observed()
        original, applied = new.in_scale(new.scores), apply(new)
    columns = refined_columns(
        later.table[later.id], original, applied.scores, applied.support, applied.errors, later.classes
    )
    backend = nw.get_native_namespace(later.table)
    made = {later.id: columns.pop("id")}
    for name, each in columns.items():
        made[name] = nw.new_series(name, each, nw.Float64 if each.dtype.kind == "f" else nw.String, backend=backend)
    native = nw.from_dict(made, backend=backend).to_native()
    if hasattr(frame, "index"):
        native.index = frame.index
    return native
