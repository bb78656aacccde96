"""Saved refinements: a NumPy archive of plain arrays and one JSON text, without any code in it (docs/saved.md)."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

from manifuse.backends.host import HostGraph
from manifuse.diffusion.extension import Extension, Lookup
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.joint import Reason, Round, Step
from manifuse.diffusion.method import JointDiffusion, Setting
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import ROUNDS, Presmoothing
from manifuse.diffusion.schemes import ExplicitEuler, ImplicitEuler, Transport
from manifuse.errors import InputError, demand
from manifuse.evidence.relevance import Relevance
from manifuse.evidence.score import Gain
from manifuse.evidence.tuning import Trial
from manifuse.files import check_writable, read_archive, write_whole
from manifuse.refinement import Choice, Refinement

#: Of the layout; raised when older versions could no longer read what is written.
FORMAT = 2

#: What may be made on loading, by the name that the file gives; nothing else is.
VALUES = {
    kind.__name__: kind
    for kind in (
        *(Refinement, Relevance, Step, Choice, Setting, Trial, Gain, JointDiffusion, ImplicitEuler, ExplicitEuler),
        *(Presmoothing, HostGraph, Extension, Lookup, Round, Transport),
    )
}


def save(result: Refinement, path: Path | str) -> None:
    """Keep a refinement, to be applied to rows that come later, in another process or another year.

    Parameters
    ----------
    result : Refinement
    path : path-like
        Ends in ``.npz``. Written whole or not at all.

    Raises
    ------
    InputError
        If it is no refinement, or cannot be written there.

    See Also
    --------
    load : Get it back.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> ours = mf.Observations(np.arange(20.0) + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(np.arange(20.0) + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mf.save(result, f"{folder}/ours.npz")
    ...     again = mf.load(f"{folder}/ours.npz")
    >>> bool(np.all(again.apply(ours) == result.apply(ours)))
    True
    """
    demand(Refinement, result)
    path = Path(path)
    check_model(path)
    arrays: dict[str, NDArray[Any]] = {}
    tree = _plain(result, arrays)
    text = json.dumps({"format": FORMAT, "refinement": tree}, allow_nan=False)
    content = {"json": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **content)  # type: ignore[arg-type]

    write_whole(path, write)


def check_model(path: Path) -> None:
    """Refuse a name under which nothing could be saved, before any work is done."""
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in {path.suffix!r}, but saved refinements end in .npz; name it so.")
    check_writable(path)


def load(path: Path | str) -> Refinement:
    """Get a saved refinement back.

    Nothing in the file can make anything run: it holds numbers and text, and only values of this package's own
    kinds are made from them. Predictions come back as NumPy arrays, whatever they were.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Refinement

    Raises
    ------
    InputError
        If it is no saved refinement, damaged, or of a later version's format.

    See Also
    --------
    save : Its example goes both ways.

    Examples
    --------
    >>> import manifuse as mf
    >>> try:
    ...     mf.load("nowhere.npz")
    ... except mf.InputError as error:
    ...     print(str(error)[:45])
    nowhere.npz cannot be read as a NumPy archive
    """
    path = Path(path)
    arrays = read_archive(path)
    try:
        content = json.loads(bytes(arrays.pop("json")))
        written, tree = content["format"], content["refinement"]
    except (KeyError, ValueError, TypeError, RecursionError):
        raise InputError(f"{path} is no saved refinement; give a file that manifuse saved.") from None
    if written != FORMAT:
        raise InputError(
            f"{path} is of format {written!r}, but this version reads {FORMAT}; use the version that wrote it."
        )
    try:
        result = _value(tree, arrays)
        if not isinstance(result, Refinement):
            raise TypeError("it holds no refinement")
        _check(result)
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{path} is damaged ({error}); save the refinement again.") from None
    return result


def _plain(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Describe a value as JSON; arrays go to ``arrays`` under the name that stands for them."""
    if isinstance(value, Fit):
        value = value.extension
    if isinstance(value, Reason):
        return {"reason": value.name}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.ndarray):
        name = f"array{len(arrays)}"
        arrays[name] = value
        return {"array": name}
    if isinstance(value, sparse.csr_array):
        parts = {name: _plain(getattr(value, name), arrays) for name in ("data", "indices", "indptr")}
        return {"sparse": parts, "rows": value.shape[0], "columns": value.shape[1]}
    if isinstance(value, Observations):
        return {"table": {name: _plain(getattr(value, name), arrays) for name in ("name", "scores", "table", "keys")}}
    if isinstance(value, tuple):
        return {"tuple": [_plain(entry, arrays) for entry in value]}
    if isinstance(value, Mapping):
        return {"mapping": {name: _plain(entry, arrays) for name, entry in value.items()}}
    if is_dataclass(value) and type(value).__name__ in VALUES:
        named = {field.name: _plain(getattr(value, field.name), arrays) for field in fields(value) if _is_kept(field)}
        return {"value": type(value).__name__, "fields": named}
    raise TypeError(f"a {type(value).__name__} cannot be saved")


def _is_kept(field: Any) -> bool:
    """Whether a field is saved; predictions are, under another name, and their container is not."""
    return bool(field.name != "predictions")


def _value(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Make what `_plain` described."""
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"reason": name}:
            return Reason[name]
        case {"number": text}:
            return float(text)
        case {"array": name}:
            return arrays[name]
        case {"sparse": parts, "rows": rows, "columns": columns}:
            data, indices, starts = (_value(parts[name], arrays) for name in ("data", "indices", "indptr"))
            if (data.dtype.kind, indices.dtype.kind, starts.dtype.kind) != ("f", "i", "i"):
                raise TypeError("a graph is of other numbers than floats between whole numbers")
            matrix = sparse.csr_array((data, indices, starts), shape=(rows, columns))
            matrix.check_format(full_check=True)
            return matrix
        case {"table": parts}:
            scores, table, keys = (_value(parts[name], arrays) for name in ("scores", "table", "keys"))
            if any(numbers is not None and numbers.dtype.kind != "f" for numbers in (scores, table)):
                raise TypeError("a table holds something else than floats")
            return Observations(scores, table, ids=keys, name=parts["name"])
        case {"tuple": entries}:
            return tuple(_value(entry, arrays) for entry in entries)
        case {"mapping": entries}:
            return {name: _value(entry, arrays) for name, entry in entries.items()}
        case {"value": name, "fields": named}:
            made = {key: _value(entry, arrays) for key, entry in named.items()}
            if name == Refinement.__name__:
                made["predictions"] = made["_refined"]
            _demand_kinds(VALUES[name], made)
            return VALUES[name](**made)
    raise ValueError(f"{sorted(tree)} is nothing that is saved")


def _demand_kinds(kind: type, made: Mapping[str, Any]) -> None:
    """Refuse fields that are missing, unknown, or of another type than their annotation."""
    hints = typing.get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    if names != made.keys():
        raise ValueError(f"{kind.__name__} has other fields than {', '.join(sorted(made))}")
    for name, value in made.items():
        if not _is_of(value, hints[name]):
            raise TypeError(f"{name} of {kind.__name__} is a {type(value).__name__}")


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation says, as far as its outermost type goes, and into tuples."""
    if hint is Any or isinstance(hint, typing.TypeVar):
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return value in arguments
    if origin is tuple:
        entries = arguments[0] if arguments[1:] == (Ellipsis,) else None
        if not isinstance(value, tuple):
            return False
        return entries is None or all(_is_of(entry, entries) for entry in value)
    if origin is np.ndarray:
        (numbers,) = typing.get_args(arguments[1])
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, typing.get_origin(numbers) or numbers)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    kind = origin or hint
    return isinstance(value, kind) if isinstance(kind, type) else True


def _check(result: Refinement) -> None:
    """Refuse parts that do not fit together, or of values that there are not, so that nothing of it fails later."""
    rows, references, fit = len(result.main), len(result.relevance), result._fitted()
    if len(fit.main) != rows or len(fit.lookups) != references:
        raise ValueError("its parts are of different sizes")
    for vector, size in (
        (result._refined, rows),
        (result.support, rows),
        (result.weights, references),
        (result._typical, references),
    ):
        if vector.shape != (size,) or not np.isfinite(vector).all():
            raise ValueError("its parts are of different sizes, or not finite")
    if not (np.isfinite(fit.offset) and 0 < fit.scale < np.inf and fit.score_scale > 0 and _is_amount(fit.smoothing)):
        raise ValueError("its scales are no scales")
    for lookup in fit.lookups:
        if lookup is not None and not (lookup.keys.shape == lookup.scores.shape == (max(len(lookup.keys), 1),)):
            raise ValueError("its references are of different sizes")
        if lookup is not None and not np.isfinite(lookup.scores).all():
            raise ValueError("its references are not finite")
    smoothing = fit.presmoothing
    if smoothing is not None and not (
        len(smoothing.main) == rows
        and 0 < smoothing.step < np.inf
        and smoothing.scale > 0
        and 1 <= smoothing.rounds <= ROUNDS
    ):
        raise ValueError("its presmoothing is of another size")
    for graph in (fit.graph, None if smoothing is None else smoothing.graph):
        if graph is None:
            continue
        if not graph.on_host().weights.shape == (rows, rows) == graph.scales.shape * 2:
            raise ValueError("its graph is of another size")
        if not (
            1 <= graph.neighbours <= rows and _is_amount(graph.scales) and _is_amount(graph.on_host().weights.data)
        ):
            raise ValueError("its graph has edges of no weight")
        order = graph.on_host().order
        if order is not None and not np.array_equal(np.sort(order), np.arange(rows)):
            raise ValueError("its graph has no order of rows")
    for turn in (*fit.rounds, fit.end):
        if turn.start.shape != (rows,) or not np.isfinite(turn.start).all():
            raise ValueError("its rounds are of different sizes")
        _check_transport(turn.transport, rows, references)
        if turn.smoothed is not None:
            _check_transport(turn.smoothed, rows, 1)
    for turn in fit.rounds:
        mixed = 1 + references + (turn.smoothed is not None and fit.graph is not None) + fit.anchored
        if turn.coefficients.shape != (mixed,) or not np.isfinite(turn.coefficients).all():
            raise ValueError("its rounds mix other predictions than there are")


def _check_transport(transport: Transport, rows: int, columns: int) -> None:
    """Refuse what does not arrive on every row, finite."""
    if not transport.values.shape == transport.row_sums.shape == transport.reached.shape == (rows, columns):
        raise ValueError("its bridges are of different sizes")
    if not (np.isfinite(transport.values).all() and np.isfinite(transport.row_sums).all()):
        raise ValueError("its bridges are not finite")


def _is_amount(values: ArrayLike) -> bool:
    """Whether numbers are finite and at least 0."""
    return bool(np.all(np.isfinite(values)) and np.min(values, initial=0.0) >= 0)
