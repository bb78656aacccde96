"""Commands: ours and those that other packages add, each of which a signal can stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from manifuse.cli.console import say
from manifuse.cli.stopping import STOPPED, interrupt, status_of
from manifuse.errors import InputError

#: The group of entry points by which other packages add commands, each a Typer app; those of the study.
GROUP, STUDY = "manifuse.commands", ("datasets", "report", "reproduce")


#: What is raised if arguments cannot be parsed; Typer gives it no public name.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@contextmanager
def parsing() -> Iterator[None]:
    """Refuse arguments that cannot be parsed in a sentence, as other input."""
    try:
        yield
    except UsageError as error:
        refused: Any = error
        said, context = refused.format_message(), refused.ctx
        if not said:  # It is the help.
            raise
        command = "manifuse" if context is None else context.command_path
        key = getattr(refused, "option_name", "").lstrip("-").replace("-", "_")
        names = [] if context is None else [each.name for each in context.command.params]
        if "reference" in names and "extra argument" in said:
            said = f"{said.rstrip('.')}; give further tables with --reference"
        if "config" in names:
            from manifuse.cli.config import place_of

            if place := place_of(key):
                raise InputError(
                    f"There is no option --{key}; set {key} {place} of a TOML file, and give that with --config."
                ) from None
        raise InputError(f"{said.rstrip('.')}; see '{command} --help'.") from None


class Commands(TyperGroup):
    """Our commands, and those that other packages add, which are imported when they are asked for.

    A signal, such as an interrupt (ctrl-C), can stop each of them; files are written whole, so that no unfinished file
    is left.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands that are installed."""
        return [*super().list_commands(ctx), *sorted(entry_points(group=GROUP).names)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by its name, or None if there is none.

        Raises
        ------
        InputError
            If it is one of the study, which is not installed.
        """
        known = super().get_command(ctx, cmd_name)
        if known is not None:
            return known
        for entry in entry_points(group=GROUP, name=cmd_name):
            command = typer.main.get_command(entry.load())
            command.name = cmd_name
            return command
        if cmd_name in STUDY:
            raise InputError(
                f"'manifuse {cmd_name}' is a command of the study, which is not installed; in a checkout, run: "
                "pip install ./study"
            )
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that arguments name, and refuse options of which the last would count."""
        name, command, rest = super().resolve_command(ctx, args)
        options: list[Any] = [] if command is None else command.params
        for option in options:
            opposite = [each for each in (*option.opts, *option.secondary_opts) if each in rest]
            if option.secondary_opts and len(opposite) > 1:
                raise InputError(f"{' and '.join(opposite)} came, but one says the opposite of the other; give one.")
            if option.param_type_name == "option" and not (option.multiple or option.is_flag):
                given = [each for each in rest if each.partition("=")[0] in option.opts]
                if len(given) > 1:
                    raise InputError(
                        f"{option.opts[0]} came {len(given)} times, but it takes one value; give it once."
                    )
        return name, command, rest

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Parse what comes before the name of a command."""
        with parsing():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; if a signal stops it, say so in one sentence."""
        try:
            interrupt.catching = True
            with parsing():
                return super().invoke(ctx)
        except (KeyboardInterrupt, OSError) as error:
            # A terminal that was closed refuses the end of a display of progress, too.
            if isinstance(error, OSError) and interrupt.number is None:
                raise
            say(STOPPED, style="red")
            raise typer.Exit(status_of(interrupt.number or signal.SIGINT)) from None
        finally:
            interrupt.catching = False
