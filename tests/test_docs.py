"""Documentation as a test: examples run, tests named in the ledger exist, commands in the README are real."""

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import manifuse

ROOT = Path(__file__).parents[1]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(manifuse.__path__, "manifuse.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", ["manifuse", *MODULES])
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_readmes_python_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_the_readmes_first_two_commands_are_the_two():
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [block.strip() for block in blocks[:2]] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_options_named_in_the_readme_exist():
    from manifuse.cli.app import app

    commands = ("refine", "explore", "reproduce", "report", "demo")
    help_text = "".join(
        CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERM": "dumb"}).output
        for command in commands
    )
    for option in set(re.findall(r"--[a-z]+", (ROOT / "README.md").read_text())) - {"--help"}:
        assert option in help_text, option


def test_every_test_named_in_the_ledger_exists():
    ledger = (ROOT / "docs" / "paper.md").read_text()
    files = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    current = None
    named = re.findall(r"`(?:(test_\w+\.py))?(?:::(test_\w+))?`", ledger)
    assert len([pair for pair in named if pair[1]]) > 15
    for file, function in named:
        current = file or current
        if function:
            tree = ast.parse(files[current].read_text())
            assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, function


def test_files_and_links_named_in_the_docs_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), (page.name, target)


def test_the_project_names_no_host_and_no_machine():
    pattern = re.compile(r"https?://[\w.-]*(pypi|npmjs|registry|localhost)|/work/|/root/")
    tracked = [path for path in ROOT.rglob("*") if path.suffix in {".py", ".md", ".toml", ".txt", ".cff", ".csv"}]
    own = [path for path in tracked if ".venv" not in path.parts and path != Path(__file__)]
    assert not [path for path in own if pattern.search(path.read_text(encoding="utf-8"))]
