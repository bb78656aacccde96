"""Documentation as a test: examples run, tests named in the ledger exist, commands in the README are real."""

import ast
import doctest
import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.main import get_command

import manifuse
from tests.problems import draw

ROOT = Path(__file__).parents[1]
MODULES = [
    module.name
    for module in pkgutil.walk_packages(manifuse.__path__, "manifuse.")
    if not module.name.endswith("__main__")
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = sorted((ROOT / "docs").glob("*.md"))
PAGES_OF = {path.stem: path for path in PAGES}


@pytest.mark.parametrize("name", ["manifuse", *MODULES])
def test_examples_in_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_readmes_python_runs():
    blocks = python_of(ROOT / "README.md")
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


#: Pages with what their code prints, and the mark before it.
SHOWN = {"index": "clinics", "compare": "rivals"}


@pytest.mark.parametrize(
    "path, mark", [(ROOT / "README.md", "halves"), *((PAGES_OF[name], mark) for name, mark in SHOWN.items())]
)
def test_what_pages_show_as_printed_is_what_is_printed(path, mark, capsys):
    before, _, rest = path.read_text().partition(f"<!-- {mark} -->\n```text\n")
    shown = rest.partition("\n```")[0]
    exec(compile(before.rpartition("```python\n")[2].partition("```")[0], path.name, "exec"), {})
    assert capsys.readouterr().out.rstrip() == shown


def test_the_pages_python_runs_from_top_to_bottom(tmp_path, monkeypatch):
    case = draw(0)
    for name, table in (("ours", case.main), ("theirs", case.references[0]), ("later", case.main)):
        columns = {f"x{place}": column for place, column in enumerate(table.table.T)}
        frame = pl.DataFrame({"id": table.keys.tolist(), "score": table.scores} | columns)
        frame.write_csv(tmp_path / f"{name}.csv")
    known = {"id": case.main.keys[case.labelled].tolist(), "label": case.truth[case.labelled]}
    pl.DataFrame(known).write_csv(tmp_path / "known.csv")
    monkeypatch.chdir(tmp_path)
    ran = {}
    for page in PAGES:
        if page.stem in SHOWN:
            continue  # They ran in the test above.
        names = {}
        for block in python_of(page):
            exec(compile(block, page.name, "exec"), names)
            ran[page.name] = names
    quickstart = ran["quickstart.md"]
    assert np.corrcoef(quickstart["refined"]["score"], case.truth)[0, 1] > 0.8
    assert len(quickstart["later"]) == len(case.main)


def test_links_of_pages_do_not_read_as_files():
    for path in PAGES:
        assert not re.findall(r"\[[^]]*\.md\]\(", path.read_text()), path.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_scripts_of_the_gallery_say_what_their_data_are_and_check_what_they_claim(path):
    """They run when the site is built, in building/test_site_and_packages.py."""
    source = path.read_text()
    title = ast.get_docstring(ast.parse(source)).splitlines()[0]
    assert title.endswith(("(real data)", "(simulated data)")), title
    assert "\nassert " in source
    assert ("default_rng" in source and "load" not in source and "digits" not in source) == ("simulated" in title)


def test_every_public_name_is_in_the_reference():
    listed = set(re.findall(r"^   (\w+)$", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE))
    assert listed == set(manifuse.__all__) - {"__version__"}


def test_the_reference_has_the_help_of_every_command(tmp_path, monkeypatch, capsys):
    commands = extension("commands", monkeypatch)
    commands.write(tmp_path / "generated" / "commands.md")
    page = (tmp_path / "generated" / "commands.md").read_text()
    sections = dict(re.findall(r"^## (manifuse[\w ]*)\n\n```text\n(.*?)\n```", page, re.MULTILINE | re.DOTALL))
    source = "".join(path.read_text() for path in (ROOT / "src" / "manifuse" / "cli").glob("*.py"))
    assert {name.split()[-1] for name in sections} >= set(re.findall(r'\.command\("(\w+)"', source)) | {"manifuse"}
    from manifuse.cli.app import main

    for name, value in {"COLUMNS": str(commands.WIDTH), "TERM": "dumb", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    # Without this, the help shows the name of the process as the name of the program.
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
    for name, text in sections.items():
        monkeypatch.setattr(sys, "argv", [*name.split(), "--help"])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 0
        assert words_of(capsys.readouterr().out) == words_of(text), name


@pytest.mark.parametrize(
    "text, count",
    [
        ('<script async src="https://host/a.js"></script>', 1),
        ("<img alt='' src=//host/a.png>", 1),
        ('<link href="https://host/a.css" rel="stylesheet">', 1),
        ('@import "https://host/a.css"; p { background: url(https://host/b.png) }', 2),
        ('<a href="https://host">there</a> <script src="_static/a.js"></script> <link rel="author" href="//host">', 0),
    ],
)
def test_the_check_finds_what_a_page_would_load_from_elsewhere(text, count, monkeypatch):
    assert len(list(extension("offline", monkeypatch).remote_sources(text))) == count


def test_the_readmes_first_two_commands_are_the_two():
    blocks = re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [block.strip() for block in blocks[:2]] == ["make demo", "make test"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_options_named_in_the_readme_and_the_pages_exist():
    from manifuse.cli.app import app

    pages = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in ("quickstart", "choosing", "faq"))]
    texts = [page.read_text() for page in pages]
    commands = get_command(app)
    names = commands.list_commands(None)
    options = {name: options_of(commands.get_command(None, name)) for name in names}
    known = set().union(*options.values())
    for option in {option for text in texts for option in re.findall(r"--[a-z-]+[a-z]", text)}:
        assert option in known, option
    # Options in a written command must be options of that command.
    lines = [line for text in texts for line in re.findall(r"manifuse (\w+ .*?)(?:\n|`)", text.replace("\\\n", " "))]
    asked = [(line.split()[0], option) for line in lines for option in re.findall(r"--[a-z-]+[a-z]", line)]
    assert {"refine", "apply", "explore", "report"} <= {command for command, _ in asked}
    for command, option in asked:
        assert option in options[command], (command, option)


def test_every_test_named_in_the_ledger_exists():
    ledger = (ROOT / "docs" / "paper.md").read_text()
    files = {path.name: path for folder in ("tests", "study/tests") for path in (ROOT / folder).rglob("test_*.py")}
    current = None
    named = re.findall(r"`(?:(test_\w+\.py))?(?:::(test_\w+))?`", ledger)
    assert len([pair for pair in named if pair[1]]) > 15
    for file, function in named:
        current = file or current
        if function:
            tree = ast.parse(files[current].read_text())
            assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, function


def test_files_and_links_named_in_the_docs_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            # Generated files are left out, because the build itself reports missing ones.
            assert target.startswith("generated/") or (page.parent / target).exists(), (page.name, target)


def test_the_project_names_no_host_and_no_machine():
    pattern = re.compile(r"https?://[\w.-]*(pypi|npmjs|registry|localhost)|/work/|/root/")
    tracked = [path for path in ROOT.rglob("*") if path.suffix in {".py", ".md", ".toml", ".txt", ".cff", ".csv"}]
    own = [path for path in tracked if ".venv" not in path.parts and path != Path(__file__)]
    assert not [path for path in own if pattern.search(path.read_text(encoding="utf-8"))]


def options_of(command):
    """Return all options of a command and its subcommands."""
    own = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return own.union({"--help"}, *(options_of(inner) for inner in getattr(command, "commands", {}).values()))


def python_of(page):
    """Return the blocks of Python code of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def extension(name, monkeypatch):
    """Load one of the site's own Sphinx extensions."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "extensions")
    return importlib.import_module(name)


def words_of(text):
    """Return the words of a help text, without line breaks and frames."""
    return re.sub(r"[^\w\[\]<>.,;:()/-]+", " ", text).split()


def test_the_recipe_for_conda_asks_for_what_the_package_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    asked = re.findall(r"^    - (\S+) >=(\S+)$", recipe.partition("  run:\n")[2], re.MULTILINE)
    names = {"matplotlib-base": "matplotlib"}
    wanted = [
        requirement.split(">=") for requirement in ["python" + project["requires-python"], *project["dependencies"]]
    ]
    assert [[names.get(name, name), version] for name, version in asked] == wanted
    assert f"version: {project['version']}\n" in recipe
    assert f"version: {project['version']}\n" in (ROOT / "CITATION.cff").read_text()
