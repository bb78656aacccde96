"""The plan of the rooms in CONTRIBUTING.md: who knows whom, exactly, and how large a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import manifuse

SOURCE = Path(__file__).parents[1] / "src" / "manifuse"

#: Lines of a file, and lines of code of a function's body.
LONGEST_FILE, LONGEST_FUNCTION = 310, 40

#: All but the two doors of the package: that of Python, and that of the command line.
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path not in set(SOURCE.glob("__*__.py"))]


PLAN = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()


def floors():
    """The rooms of each floor of the drawing, the highest first."""
    drawing = PLAN.split("```")[1]
    lines = [re.match(r"   (\w+(?: +\w+)*?)(?:   {12,}| {20,}|$)", line) for line in drawing.splitlines()]
    return [line[1].split() for line in lines if line]


def on_the_plan():
    """What each room knows, by the table."""
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", PLAN, re.MULTILINE)
    return {room: set() if known == "\u2013" else set(known.split(", ")) for room, known in rows}


def imports_of(path):
    """Rooms that a file imports from, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            package = node.module.split(".")
            assert package[0] != "manifuse_study", f"{path} imports the study"
            if package[0] == "manifuse":
                yield from ([*package[1:], alias.name][0] for alias in node.names)
        elif isinstance(node, ast.Import):
            assert not [alias for alias in node.names if alias.name.startswith("manifuse")], path


def test_the_code_that_is_tested_is_that_of_this_checkout():
    """An environment that another checkout made may import that one."""
    assert Path(manifuse.__file__).parent.resolve() == SOURCE.resolve()


def test_every_room_knows_exactly_the_rooms_that_the_plan_says():
    known = {path.relative_to(SOURCE).with_suffix("").parts[0]: set() for path in MODULES}
    for path in MODULES:
        room = path.relative_to(SOURCE).with_suffix("").parts[0]
        known[room] |= set(imports_of(path)) - {room, "__version__"}
    assert known == on_the_plan()


def test_the_drawing_shows_every_room_and_no_arrow_goes_up_or_along():
    floor = {room: number for number, rooms in enumerate(floors()) for room in rooms}
    assert floor.keys() == on_the_plan().keys()
    for room, others in on_the_plan().items():
        assert not [other for other in others if floor[other] <= floor[room]], room


def test_every_file_says_what_it_is():
    for path in MODULES:
        assert (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0].endswith((".", ":")), path


def test_the_root_has_few_modules():
    assert len([path for path in MODULES if path.parent == SOURCE]) <= 5


def test_a_file_name_occurs_once():
    stems = [path.stem for path in MODULES if path.stem != "__init__"]
    assert len(set(stems)) == len(stems)


def test_the_core_imports_nothing_heavy():
    code = "import sys, manifuse; manifuse.refine; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "manifuse.run.refine" in loaded
    # Where pandas is installed, scikit-learn imports it.
    assert not loaded & {"torch", "matplotlib", "polars", "faiss", "typer"}


def test_where_numbers_are_computed_nothing_touches_files_or_the_clock():
    forbidden = {"pathlib", "time", "datetime", "os", "io", "matplotlib", "subprocess"}
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0] in ("kernels", "diffusion", "evidence", "columns"):
            tree = ast.parse(path.read_text())
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not names & forbidden, path


def test_no_module_has_a_name_like_utils():
    assert not {path.stem for path in MODULES} & {"utils", "helpers", "common", "misc"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None
            body = node.body[1:] if documented else node.body
            assert not body or body[-1].end_lineno - body[0].lineno < LONGEST_FUNCTION, node.name


@pytest.mark.parametrize("number", range(1, 18))
def test_every_equation_is_found_by_its_number(number):
    rooms = [SOURCE / room for room in ("kernels", "diffusion", "evidence", "columns")]
    texts = [path.read_text() for room in rooms for path in room.glob("*.py")]
    assert any(re.search(rf"eq\. (?:\d+[ab]?(?:, | and | to ))*{number}[ab]?\b", text) for text in texts)
