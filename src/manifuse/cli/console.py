"""Results on standard output, and messages to people on standard error."""

import errno
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from manifuse.errors import ManifuseWarning

people = Console(stderr=True, emoji=False)

#: Characters that a terminal obeys, which names of files and ids may have.
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")

#: Numbers that differ from part to part of a table; those at the beginning and within words belong to names.
COUNTS = re.compile(r"(?<!^)(?<![\w'.-])-?\d+(,\d{3})*(\.\d+)?(e[+-]?\d+)?(?![\w-])")

#: Parameters, which messages name in backticks, that are options of the command line.
OPTIONS = {"classes", "drop", "drop_invalid", "features", "id", "label", "labels", "pairs", "same_target", "score"}

#: The same where a sentence says a value: its option, or its key in a config. A line may break within it.
VALUED = {
    'scale="logits"': "--scale logits",
    'scale="probability"': "--scale probability",
    "set `same_target` to true": "give --same-target",
    "set `same_target` to false": "give --ask-references",
    "`same_target` is false": "--ask-references was given",
    "set `safeguarded` to false": "set safeguarded = false in the table [method] of a config",
    "`drop_invalid` of files, or `invalid='drop'` of `Observations.from_frame`": "--drop-invalid",
}


def in_flags(sentence: str) -> str:
    """Call the parameters that a sentence names in backticks as the command line does, and not what they are of."""
    for said, option in VALUED.items():
        for found in set(re.findall(said.replace(" ", r"\s"), sentence)):
            # A line that breaks within the words breaks within those in their place.
            sentence = sentence.replace(found, option.replace(" ", "\n", 1) if "\n" in found else option)
    return re.sub(r"`(\w+)(?:=[^`]*)?`(?: of `\w+`)?", _in_flag, sentence)


def _in_flag(named: re.Match[str]) -> str:
    return f"--{named[1].replace('_', '-')}" if named[1] in OPTIONS else named[1]


def say(sentence: str, *, style: str | None = None) -> None:
    """Print a sentence: without markup, coloured numbers or line breaks, and without what a terminal obeys."""
    shown = OBEYED.sub("\ufffd", in_flags(sentence))
    with suppress(OSError):  # A terminal that was closed cannot be told.
        people.print(shown, style=style, markup=False, highlight=False, soft_wrap=True)


def answer(result: RenderableType) -> None:
    """Print a result, text as it is, but without what a terminal obeys."""
    if sys.stdout is None:  # It was closed before the start, and print would say nothing.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    if isinstance(result, str):
        typer.echo(OBEYED.sub("\ufffd", result))
    else:
        Console(emoji=False).print(result)


def say_unprinted(error: OSError) -> None:
    """Say that standard output refused a result, as on a full disk."""
    # Python would try, and fail, again at its end.
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    say(
        f"manifuse: The result cannot be printed ({error.strerror}); send standard output elsewhere. Files that "
        "were written are complete.",
        style="red",
    )


def show_warning(message: Warning | str, category: type[Warning], *others: object, **named: object) -> None:
    """Print warnings of manifuse, in place of ``warnings.showwarning``; users cannot act on those of libraries."""
    if issubclass(category, ManifuseWarning):
        say(f"manifuse: {message}", style="yellow")


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Show on a terminal how far long work is, and nothing elsewhere.

    Yields
    ------
    callable
        Takes how much is done, and how much there is to do, or None if that is not known.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=people, transient=True, disable=not people.is_terminal) as shown:
        work = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(work, completed=done, total=total)


@contextmanager
def once() -> Iterator[list[dict[str, str]]]:
    """Show a warning once, though many parts of a table raise it, each with other numbers.

    Yields
    ------
    list of dict
        The warnings that were shown so far: ``code`` and ``sentence`` of each.
    """
    shown: set[str] = set()
    told: list[dict[str, str]] = []
    show = warnings.showwarning

    def show_first(message: Warning | str, category: type[Warning], *others: Any, **named: Any) -> None:
        words = COUNTS.sub("#", str(message))
        if words not in shown:
            shown.add(words)
            if isinstance(message, ManifuseWarning):
                told.append({"code": message.code, "sentence": in_flags(str(message))})
            show(message, category, *others, **named)

    with warnings.catch_warnings():
        warnings.showwarning = show_first
        yield told
