"""The files of a data set: which of its forms is in the data folder, and what the files are, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from manifuse.errors import InputError
from manifuse.study.datasets.dataset import checksum

#: Files or folders that make up one form of a data set, by their paths in the data folder.
Form = tuple[str, ...]


def complete(folder: Path, title: str, forms: Sequence[Form]) -> Form:
    """Choose the first form of which everything is in the folder.

    Raises
    ------
    InputError
        If nothing is there, or only a part.
    """
    for form in forms:
        if all((folder / path).exists() for path in form):
            return form
    for form in forms:
        there = [path for path in form if (folder / path).exists()]
        if there:
            missing = next(path for path in form if path not in there)
            raise InputError(
                f"{folder / missing} is not there, though {there[0]} is; {title} needs both, so put it beside it."
            )
    raise InputError(
        f"{folder / forms[0][0]} is not there; name the data folder with --data or MANIFUSE_DATA (it holds "
        f"{described(forms)}), and ask `manifuse datasets check` where its owner publishes it."
    )


def any_there(folder: Path, forms: Sequence[Form]) -> bool:
    """Whether the folder has something of the data set, be it complete or not."""
    return any((folder / path).exists() for form in forms for path in form)


def described(forms: Sequence[Form]) -> str:
    """The forms in words, for people who look for the files."""
    return "; or ".join(" with ".join(_grouped(form)) for form in forms)


def checksums(folder: Path, form: Form) -> dict[str, str]:
    """SHA-256 of every file of a form."""
    return {path: checksum(folder / path) for path in form}


def _grouped(form: Form) -> list[str]:
    """Paths of a form, those of one folder together."""
    names: dict[str, list[str]] = {}
    for path in map(PurePosixPath, form):
        names.setdefault(str(path.parent), []).append(path.name)
    return [
        f"{', '.join(inside)} in {parent}" if len(inside) > 1 else f"{parent}/{inside[0]}"
        for parent, inside in names.items()
    ]
