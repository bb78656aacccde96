"""The page of the commands: the help that each command prints."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer
from sphinx.application import Sphinx
from typer.testing import CliRunner

from manifuse.cli.app import app as command_line

#: Characters in a line; narrow enough for most windows, while a phone scrolls.
WIDTH = 84

INTRODUCTION = """\
# Commands

This is what each command prints with `--help`. The exit status is 0 if the command succeeded, 1 if it failed, 130
after an interrupt (after another signal, 128 and its number), and 2 if input or arguments were refused; one sentence
then says what came, what was expected and what to do. With `--strict` it is 3 if there was a warning or the scores are
unchanged.
"""


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the page before the sources are read."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated" / "commands.md"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(path: Path) -> None:
    """Write the page if its content changed; a new date alone would make Sphinx read it again."""
    sections = [f"## {name}\n\n```text\n{printed_help(name)}\n```\n" for name in command_names()]
    text = "\n".join([INTRODUCTION, *sections])
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def command_names() -> Iterator[str]:
    """Return the names of all commands and their subcommands, as one types them."""
    return _names(typer.main.get_command(command_line), "manifuse")


def printed_help(name: str) -> str:
    """Return what a command prints with ``--help``."""
    result = CliRunner().invoke(
        command_line,
        [*name.split()[1:], "--help"],
        prog_name="manifuse",
        env={"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1"},
    )
    return "\n".join(line.rstrip() for line in result.output.strip("\n").splitlines()).strip("\n")


def _names(command: click.Command, name: str) -> Iterator[str]:
    yield name
    if not hasattr(command, "list_commands"):
        return
    context = click.Context(command)
    for each in command.list_commands(context):
        inner = command.get_command(context, each)
        if inner is not None and not inner.hidden:
            yield from _names(inner, f"{name} {each}")
