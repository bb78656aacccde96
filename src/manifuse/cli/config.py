"""Config files of ``manifuse refine``: TOML that says the same as the options, and what a run really used."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from manifuse.cli.backend_names import HOST
from manifuse.cli.request import RefineRequest
from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.schemes import BridgeScheme, ExplicitEuler, ImplicitEuler
from manifuse.errors import InputError, look_up
from manifuse.files import check_size

#: Keys beside the table ``[method]``, with what is expected of their values.
KEYS: Mapping[str, type] = {
    "main": str,
    "reference": list,
    "out": str,
    "labels": str,
    "pairs": str,
    "features": str,
    "save": str,
    "backend": str,
    "cache": str,
    "report": str,
    "seed": int,
    "drop_invalid": bool,
    "method": dict,
}
WORDS = {str: "a text", list: "a list of texts", int: "a whole number", bool: "true or false", dict: "a table"}
SCHEMES: Mapping[str, type[ImplicitEuler] | type[ExplicitEuler]] = {
    "ImplicitEuler": ImplicitEuler,
    "ExplicitEuler": ExplicitEuler,
}


def read_config(path: Path) -> dict[str, Any]:
    """Read a config file.

    Returns
    -------
    dict
        What it sets, by key; hyperparameters under ``"method"`` by their names in `JointDiffusion`. Files are named
        from the folder where the command is run.

    Raises
    ------
    InputError
        If it cannot be read, is no TOML, or sets what there is not.
    """
    check_size(path, growth=4)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no TOML ({error}); mend it.") from None
    for key, value in content.items():
        kind = look_up(key, KEYS, kind=f"key in {path} named")
        texts = kind is not list or (isinstance(value, list) and all(isinstance(entry, str) for entry in value))
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not texts:
            raise InputError(f"{key} = {value!r} came in {path}, but {WORDS[kind]} was expected.")
        names = value if isinstance(value, list) else [value]
        if any(isinstance(name, str) and "\0" in name for name in names):
            raise InputError(f"{key} = {value!r} came in {path}, but no file has such a name; mend it.")
    if "method" in content:
        known = {field.name: field for field in fields(JointDiffusion)}
        content["method"] = {
            look_up(name, known, kind=f"hyperparameter in {path} named").name: _hyperparameter(value, path)
            for name, value in content["method"].items()
        }
    return content


def request_of(
    config: Mapping[str, Any], options: Mapping[str, Any], hyperparameters: Mapping[str, Any]
) -> RefineRequest:
    """Put a config and the options that go before it together.

    Raises
    ------
    InputError
        If neither names the main table, a reference, or the output; or a hyperparameter is out of range.
    """
    given = {**config, **options}
    for key, option in (("main", "MAIN"), ("reference", "--reference"), ("out", "--out")):
        if not given.get(key):
            raise InputError(f"{option} is missing; give it, or {key} in a --config file.")
    method = JointDiffusion(**{**config.get("method", {}), **hyperparameters})
    names = ("labels", "pairs", "save", "report", "cache", "config")
    paths = {name: Path(given[name]) if name in given else None for name in names}
    return RefineRequest(
        main=given["main"],
        references=given["reference"],
        out=Path(given["out"]),
        features=given.get("features"),
        method=method,
        seed=given.get("seed", 0),
        drop_invalid=given.get("drop_invalid", False),
        backend=given.get("backend", HOST),
        **paths,
    )


def config_text(request: RefineRequest) -> str:
    """What a run uses, in TOML; ``--config`` with it is the same run again."""
    named: dict[str, Any] = {
        "main": request.main,
        "reference": list(request.references),
        "out": str(request.out),
        "labels": request.labels,
        "pairs": request.pairs,
        "features": request.features,
        "save": request.save,
        "backend": request.backend,
        "cache": request.cache,
        "report": request.report,
        "seed": request.seed,
        "drop_invalid": request.drop_invalid,
    }
    lines = [f"{key} = {_toml(value)}" for key, value in named.items() if value is not None]
    lines += ["", "[method]"]
    for field in fields(JointDiffusion):
        value = getattr(request.method, field.name)
        if value is not None:
            lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join([*lines, ""])


def _hyperparameter(value: Any, path: Path) -> Any:
    """A value of TOML as `JointDiffusion` takes it: lists as tuples, tables as bridge schemes."""
    if isinstance(value, list):
        return tuple(_hyperparameter(entry, path) for entry in value)
    if not isinstance(value, dict):
        return value
    parameters = dict(value)
    scheme = look_up(str(parameters.pop("scheme", "ImplicitEuler")), SCHEMES, kind=f"bridge scheme in {path} named")
    try:
        return scheme(**parameters)
    except TypeError:
        there = ", ".join(field.name for field in fields(scheme))
        raise InputError(f"bridge = {value!r} came in {path}, but {scheme.__name__} has {there}.") from None


def _toml(value: Any) -> str:
    """A value in TOML; its texts are those of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, BridgeScheme):
        parameters = {"scheme": type(value).__name__, **value.parameters()}
        return "{ " + ", ".join(f"{name} = {_toml(entry)}" for name, entry in parameters.items()) + " }"
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(entry) for entry in choices(tuple(value))) + "]"
    return json.dumps(str(value), ensure_ascii=False)
