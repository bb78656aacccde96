"""Origin: what kind of array an input was, so that results are given back as the same kind."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.containers import frame_of, is_torch


@dataclass(frozen=True)
class Origin:
    """What kind of array an input was, so that results can be given back as the same kind.

    Attributes
    ----------
    library : {"numpy", "torch", "frame"}
        "frame" for series and data frames.
    dtype : object
        The dtype of results. Floating types of 32 bits and more are kept. Shorter floats become 32-bit floats. Every
        other type becomes 64-bit floats.
    implementation : object
        A tensor's device, or the implementation behind a series or a data frame.
    name : str
        The name of a series.
    columns : tuple of str
        The columns of a data frame.
    index : object
        The index of pandas, else None.
    """

    library: Literal["numpy", "torch", "frame"]
    dtype: Any
    implementation: Any = None
    name: str = ""
    columns: tuple[str, ...] = ()
    index: Any = None

    @classmethod
    def of(cls, values: Any) -> Self:
        """Find out what kind of array ``values`` are."""
        if is_torch(values):
            torch = import_module("torch")
            short = values.is_floating_point() and values.dtype.itemsize < 4
            kept = torch.float32 if short else values.dtype if values.is_floating_point() else torch.float64
            return cls("torch", kept, values.device)
        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.Series):
            kept = nw.Float32() if native.dtype == nw.Float32 else nw.Float64()
            return cls("frame", kept, native.implementation, native.name, index=nw.maybe_get_index(native))
        if isinstance(native, nw.DataFrame):
            index = nw.maybe_get_index(native)
            return cls("frame", nw.Float64(), native.implementation, columns=tuple(native.columns), index=index)
        dtype = getattr(values, "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype.kind != "f":
            return cls("numpy", np.dtype(np.float64))
        return cls("numpy", np.dtype(np.float32) if dtype.itemsize < 4 else dtype)

    def restore(self, numbers: FloatArray, rows: IndexArray, name: str | None = None) -> Any:
        """Return numbers (n,) or (n, k) of ``rows`` (n,) of the input as an array of the input's library.

        A series has the name of the input unless another is given, and a data frame has its columns.
        """
        if self.library == "torch":
            return import_module("torch").as_tensor(numbers, dtype=self.dtype, device=self.implementation)
        if self.library == "frame":
            backend, label = self.implementation, self.name if name is None else name
            if numbers.ndim == 2:
                return self._indexed(nw.from_numpy(numbers, schema=list(self.columns), backend=backend), rows)
            return self._indexed(nw.new_series(label, numbers, self.dtype, backend=backend), rows)
        return numbers.astype(self.dtype)

    @property
    def frames(self) -> Any:
        """The library of the data frame or series that came; None if another array did."""
        return self.implementation if self.library == "frame" else None

    def keep_ids(self, ids: Any, keys: NDArray[np.str_], rows: IndexArray) -> Any:
        """Return the ids of ``rows`` (n,) of the input as they came: series, whole numbers, or their ``keys`` (n,)."""
        series = nw.from_native(ids, allow_series=True, pass_through=True)
        if isinstance(series, nw.Series) and series.implementation == self.implementation:
            with suppress(NotImplementedError):  # Arrow has some types of text of which it takes no rows.
                return series[rows]
        dtype = getattr(ids, "dtype", None)
        return ids[rows] if isinstance(dtype, np.dtype) and dtype.kind in "iu" else keys

    def frame(self, columns: Mapping[str, Any], rows: IndexArray, library: Any = None) -> Any:
        """Return columns of ``rows`` of the input as a data frame, with their index.

        It is of ``library``, else of the library of the input, else of polars.
        """
        if library is not None or self.frames is None:
            return frame_of({name: np.asarray(each).tolist() for name, each in columns.items()}, library)
        backend, made = self.frames, {}
        for name, each in columns.items():
            if isinstance(each, np.ndarray):
                kind = nw.String() if each.dtype.kind == "U" else None
                made[name] = nw.new_series(name, each, kind, backend=backend)
            else:
                made[name] = each
        return self._indexed(nw.from_dict(made, backend=backend), rows)

    def _indexed(self, made: Any, rows: IndexArray) -> Any:
        """Give a series or a data frame the index of ``rows`` of the input, if it has one; return it by itself."""
        if self.index is not None:
            index = self.index[rows]
            made = nw.maybe_set_index(made, index=[index] if isinstance(made, nw.DataFrame) else index)
        return made.to_native()
