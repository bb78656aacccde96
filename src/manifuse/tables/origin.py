"""Origin: what kind of array an input was, so that results are given back as the same kind."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.containers import is_torch


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
    def of(cls, values: Any) -> Origin:
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
            index = None if self.index is None else self.index[rows]
            made: Any
            if numbers.ndim == 1:
                made = nw.new_series(label, numbers, self.dtype, backend=backend)
            else:
                made = nw.from_numpy(numbers, schema=list(self.columns), backend=backend)
                index = [index]
            return (made if self.index is None else nw.maybe_set_index(made, index=index)).to_native()
        return numbers.astype(self.dtype)
