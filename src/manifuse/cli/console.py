"""What is said to people, on standard error."""

from __future__ import annotations

from typing import TextIO

from rich.console import Console

from manifuse.errors import ManifuseWarning

people = Console(stderr=True)


def say(sentence: str, *, style: str | None = None) -> None:
    """Print a sentence as it stands: no markup, no colours of numbers, no line breaks."""
    people.print(sentence, style=style, markup=False, highlight=False, soft_wrap=True)


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning of ours, in place of ``warnings.showwarning``; those of libraries are not for users."""
    del filename, lineno, file, line
    if issubclass(category, ManifuseWarning):
        say(f"manifuse: {message}", style="yellow")
