"""Commands that other packages add: found by name, imported when they are asked for."""

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints

import pytest
import typer
from typer.testing import CliRunner

from manifuse.cli import app, commands

other = typer.Typer(add_completion=False)


@other.command()
def greet(name: str) -> None:
    """Greet someone."""
    typer.echo(f"hello {name}")


def installed(monkeypatch, *entries):
    found = EntryPoints(EntryPoint(name, value, commands.GROUP) for name, value in entries)
    monkeypatch.setattr(commands, "entry_points", lambda **wanted: found.select(**wanted))


def test_a_command_of_another_package_is_listed_and_runs(monkeypatch):
    installed(monkeypatch, ("greet", "tests.cli.test_other_commands:other"), ("broken", "no.such:module"))
    assert CliRunner().invoke(app.app, ["greet", "you"]).output == "hello you\n"
    assert "Greet someone" in CliRunner().invoke(app.app, ["greet", "--help"]).output
    installed(monkeypatch, ("greet", "tests.cli.test_other_commands:other"))
    assert "Greet someone" in CliRunner().invoke(app.app, ["--help"]).output


@pytest.mark.parametrize("command", commands.STUDY)
def test_without_the_study_its_commands_say_how_to_install_it(command, monkeypatch, capsys):
    installed(monkeypatch)
    monkeypatch.setattr("sys.argv", ["manifuse", command, "--help"])
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said == (
        f"manifuse: 'manifuse {command}' is a command of the study, which is not installed; in a checkout, run: "
        "pip install ./study"
    )


def test_an_own_command_imports_no_other(monkeypatch):
    code = "import sys; from manifuse.cli.app import app; app(['refine', '--help'], standalone_mode=False); "
    code += "print([name for name in sys.modules if name.startswith('manifuse_study')])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
