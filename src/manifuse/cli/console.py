"""Messages to people, on standard error."""

from __future__ import annotations

from rich.console import Console

from manifuse.errors import ManifuseWarning

people = Console(stderr=True)


def say(sentence: str, *, style: str | None = None) -> None:
    """Print a sentence unchanged: without markup, coloured numbers or line breaks."""
    people.print(sentence, style=style, markup=False, highlight=False, soft_wrap=True)


def show_warning(message: Warning | str, category: type[Warning], *others: object, **named: object) -> None:
    """Print warnings of manifuse, in place of ``warnings.showwarning``; users cannot act on those of libraries."""
    del others, named
    if issubclass(category, ManifuseWarning):
        say(f"manifuse: {message}", style="yellow")
