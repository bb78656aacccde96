"""Config files of ``manifuse refine``: the options in TOML, read before a run and written after it."""

import json
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from manifuse.cli.refine_options import RefineOptions
from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.explicit_euler import ExplicitEuler
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.errors import InputError, look_up
from manifuse.files import identity
from manifuse.run.method import JointDiffusion, with_parameters
from manifuse.tables.paths import demand_memory, demand_regular

#: What a message calls values of the types of options.
WORDS = {str: "a text", list: "a list of texts", int: "a whole number", bool: "true or false", dict: "a table"}
SCHEMES: Mapping[str, Any] = {scheme.__name__: scheme for scheme in (ImplicitEuler, ExplicitEuler)}

#: Names of hyperparameters, in the config's tables ``[method]`` and ``[method.diffusion]``.
METHOD = {field.name: field for field in fields(JointDiffusion) if field.name != "diffusion"}
DIFFUSION = {field.name: field for field in fields(Algorithm1)}

#: What a run may write beside its output.
BESIDE = ("save", "report")

#: TOML has no None; this text stands for that of ``fitted_rows``.
ALL = "all"


def read_options(given: Mapping[str, Any], **defaults: Any) -> RefineOptions:
    """Complete the options of the command line by those of the config that they name.

    Parameters
    ----------
    given : mapping
        Options by the names of their fields. They overrule the config.
    **defaults
        Options that are used if neither ``given`` nor the config has them.

    Raises
    ------
    InputError
        If the config cannot be read, an option without a default is missing, or a hyperparameter is out of range.
    """
    given = {**defaults, **(read_config(given["config"]) if "config" in given else {}), **given}
    for each in fields(RefineOptions):
        if each.default is MISSING and each.default_factory is MISSING and not given.get(each.name):
            option = "MAIN" if each.name == "main" else f"--{each.name}"
            raise InputError(f"{option} is missing; give it, or set {each.name} in a --config file.")
    options = RefineOptions(**given)
    method_of(options)
    return options


def method_of(options: RefineOptions) -> JointDiffusion:
    """Return the method that options describe.

    Raises
    ------
    InputError
        If a hyperparameter is out of range.
    """
    overruled = {name: getattr(options, name) for name in METHOD if getattr(options, name, None) is not None}
    return with_parameters(JointDiffusion(), {**options.method, **overruled})


def read_config(path: Path) -> dict[str, Any]:
    """Read a config file.

    Returns
    -------
    dict
        The options that it sets, by the names of their fields. Paths are relative to the folder where the command is
        run.

    Raises
    ------
    InputError
        If the file cannot be read, is not valid TOML, has an unknown key, or a value has another type than its option.
    """
    demand_regular(path)
    try:
        demand_memory(path, 4.0 * path.stat().st_size)
        read = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the name.") from None
    except (ValueError, RecursionError) as error:
        how = "texts need quotes, and true and false small letters"
        if "escape" in str(error).lower():
            how = "a text with a backslash needs single quotes"
        raise InputError(f"{path} is not valid TOML ({error}); correct it ({how}).") from None
    content, keys = _underscored(read, path), config_keys()
    _demand_placed(content, keys, f"at the top of {path}")
    further = next((key for key, value in content.items() if isinstance(value, dict) and key not in keys), None)
    if further is not None:
        raise InputError(
            f"{path} has the table [{further}], but only [method] and [method.diffusion] were expected; options stand "
            "at the top, in no table."
        )
    given = {
        key: _option(key, value, look_up(key, keys, kind=f"key in {path} named"), path)
        for key, value in content.items()
    }
    if "method" in given:
        given["method"] = _method_in(given["method"], path)
    return given


def _underscored(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return a table of TOML with underscores in its keys; they may have hyphens, as options have."""
    made: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name in made:
            raise InputError(f"{name} came twice in {path}, with - and with _; leave one of them out.")
        made[name] = value
    return made


def place_of(key: str) -> str | None:
    """Where in a config a key stands, for messages; None if it has no such key."""
    if key in DIFFUSION:
        return "in the table [method.diffusion]"
    if key in METHOD:
        return "in the table [method]"
    return "at the top" if key in config_keys() else None


def _demand_placed(found: Iterable[str], known: Collection[str], where: str) -> None:
    """Refuse a key that belongs elsewhere in a config."""
    for key in found:
        if key not in known and (place := place_of(key)):
            raise InputError(f"{key} came {where}, but it belongs {place}; move it.")


def _method_in(table: dict[str, Any], path: Path) -> dict[str, Any]:
    """Read the table of hyperparameters, and in it that of the diffusion; the latter as ``diffusion__*``."""
    table = _underscored(table, path)
    inner = table.pop("diffusion", {})
    if not isinstance(inner, dict):
        raise InputError(f"diffusion = {inner!r} came in {path}, but a table was expected; correct it.")
    made = {}
    _demand_placed(table, METHOD, f"in [method] of {path}")
    for values, known, prefix in ((table, METHOD, ""), (_underscored(inner, path), DIFFUSION, "diffusion__")):
        for name, value in values.items():
            look_up(name, known, kind=f"hyperparameter in {path} named")
            made[prefix + name] = None if (name, value) == ("fitted_rows", ALL) else _hyperparameter(value, path)
    return made


def config_text(options: RefineOptions, method: JointDiffusion) -> str:
    """Write what a run used as TOML; ``--config`` with this text repeats the run."""
    named = {key: getattr(options, key) for key in config_keys() if key != "method"}
    outer = {name: getattr(method, name) for name in METHOD}
    outer["fitted_rows"] = ALL if method.fitted_rows is None else method.fitted_rows
    inner = {name: getattr(method.diffusion, name) for name in DIFFUSION}
    tables = ["", "[method]", *_lines(outer), "", "[method.diffusion]", *_lines(inner)]
    return "\n".join([*_lines(named), *tables, ""])


def demand_own_files(options: RefineOptions, method: JointDiffusion) -> None:
    """Refuse to replace files of the run that a config records by those of another run.

    Raises
    ------
    InputError
        If the command line changes what the config says, but not the names of what is written.
    """
    if options.config is None:
        return
    try:
        alone = read_options({"config": options.config})
    except InputError:
        alone = None
    names = [name for name in config_keys() if name != "method"]
    changed = {name for name in names if alone is None or getattr(alone, name) != getattr(options, name)}
    if alone is None or method_of(alone) != method:
        changed.add("method")
    if options.record is None and changed - {*BESIDE}:
        raise InputError(
            f"{options.config} would be the record of this run, but the command line changes what it says; give the "
            "output another name with --out."
        )
    if alone is None or alone.record is not None or not changed - {"out", *BESIDE}:
        return
    theirs = {identity(path) for path in (alone.save, alone.report) if path is not None}
    for name in BESIDE:
        path = getattr(options, name)
        if path is not None and identity(path) in theirs:
            raise InputError(
                f"{path} is of the run that {options.config} records, but the command line changes what it says; give "
                f"another name with --{name}."
            )


def config_keys() -> dict[str, type]:
    """Return the keys of a config with the types of their values, ``list`` for ``list[str]``."""
    keys = {}
    for name, hint in get_type_hints(RefineOptions).items():
        if name != "config" and name not in METHOD:
            plain = get_args(hint)[0] if isinstance(hint, UnionType) else hint  # Path of Path | None
            keys[name] = get_origin(plain) or plain
    return keys


def _option(key: str, value: Any, kind: type, path: Path) -> Any:
    """Check a value of TOML, and return it as the option has it."""
    stored = str if kind is Path else kind
    entries = value if isinstance(value, list) else [value]
    if type(value) is not stored or (kind is list and any(not isinstance(entry, str) for entry in entries)):
        raise InputError(f"{key} = {value!r} came in {path}, but {WORDS[stored]} was expected; correct it.")
    if "" in entries and key != "drop":
        raise InputError(f"{key} = {value!r} came in {path}, but a text that is not empty was expected; correct it.")
    if any(isinstance(entry, str) and "\0" in entry for entry in entries):
        raise InputError(f"{key} = {value!r} came in {path}, but no name can hold a NUL character; correct it.")
    return kind(value)


def _hyperparameter(value: Any, path: Path) -> Any:
    """Return a value of TOML as `JointDiffusion` takes it: lists as tuples, tables as bridge schemes."""
    if isinstance(value, list):
        return tuple(_hyperparameter(entry, path) for entry in value)
    if not isinstance(value, dict):
        return value
    parameters = dict(value)
    scheme = look_up(str(parameters.pop("scheme", "ImplicitEuler")), SCHEMES, kind=f"bridge scheme in {path} named")
    try:
        return scheme(**parameters)
    except TypeError:
        known = ", ".join(field.name for field in fields(scheme))
        raise InputError(
            f"bridge = {value!r} came in {path}, but {scheme.__name__} has the parameters {known}; use these."
        ) from None


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]


def _toml(value: Any) -> str:
    """Return a value in TOML, which writes text, truth values and whole numbers as JSON does."""
    if isinstance(value, BridgeScheme):
        return "{ " + ", ".join(_lines(value.to_record())) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    if isinstance(value, float):
        return repr(value)
    # TOML forbids this character, which JSON writes as it is.
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False).replace("\x7f", "\\u007f")
