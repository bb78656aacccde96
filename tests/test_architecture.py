"""The plan of the rooms in CONTRIBUTING.md: who knows whom, exactly, and how large a file may be."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "manifuse"

#: What each room imports of ours, besides itself; neither more nor less. A room knows only rooms above it in the list.
KNOWS = {
    "errors": set(),
    "machine": set(),
    "kernels": set(),
    "records": set(),
    "grid": set(),
    "files": {"machine", "errors"},
    "engine": {"files", "errors"},
    "backends": {"kernels", "records", "files", "machine", "errors"},
    "diffusion": {"backends", "kernels", "records", "grid", "machine", "errors"},
    "evidence": {"grid", "diffusion", "kernels", "records", "errors"},
    "columns": {"evidence", "diffusion", "backends", "kernels", "records"},
    "preparation": {"columns", "evidence", "diffusion", "backends", "kernels"},
    "refined": {"diffusion", "kernels", "records"},
    "refiner": {"refined", "columns", "evidence", "diffusion", "backends", "kernels", "records", "machine", "errors"},
    "conclusion": {"refiner", "refined", "preparation", "columns", "evidence", "diffusion", "kernels", "machine"},
    "outcome": {"conclusion", "preparation", "columns", "evidence", "diffusion", "kernels"},
    "choice": {"outcome", "conclusion", "preparation", "columns", "evidence", "diffusion", "kernels", "records"},
    "standing": {"refiner", "evidence", "diffusion"},
    "wording": {"standing", "grid", "evidence", "diffusion"},
    "refinement": {
        "wording",
        "outcome",
        "conclusion",
        "refiner",
        "refined",
        "choice",
        "preparation",
        "evidence",
        "diffusion",
        "kernels",
        "records",
        "errors",
    },
    "run": {"refinement", "conclusion", "preparation", "evidence", "diffusion", "backends", "kernels", "errors"},
    "persistence": {"refinement", "records", "files", "errors"},
    "combiner": {"run", "persistence", "evidence", "diffusion", "kernels", "errors"},
    "digit_views": {"kernels"},
    "datasets": {"digit_views", "evidence", "diffusion", "kernels", "errors"},
    "rivals": {"run", "evidence", "diffusion", "backends", "kernels", "records", "errors"},
    "report": {
        "rivals",
        "datasets",
        "run",
        "grid",
        "refinement",
        "wording",
        "standing",
        "columns",
        "evidence",
        "diffusion",
        "kernels",
        "files",
        "errors",
    },
    "cli": {
        "engine",
        "machine",
        "datasets",
        "digit_views",
        "page",
        "report",
        "grid",
        "wording",
        "persistence",
        "run",
        "refinement",
        "diffusion",
        "backends",
        "files",
        "errors",
    },
    "study/datasets": {"digit_views", "diffusion", "kernels", "files", "errors"},
    "study/ranking": {"evidence", "kernels", "errors"},
    "study/baselines": {"study/ranking", "rivals", "evidence", "diffusion", "kernels"},
    "study/example": {"study/datasets", "datasets", "errors"},
    "study/experiments": {
        "rivals",
        "study/baselines",
        "study/datasets",
        "study/ranking",
        "report",
        "grid",
        "run",
        "refinement",
        "preparation",
        "evidence",
        "diffusion",
        "backends",
        "kernels",
        "engine",
        "files",
        "machine",
        "errors",
    },
    "study/commands": {"study/experiments", "study/datasets", "cli", "report", "engine", "files", "errors"},
}

#: Lines of a file, and lines of code of a function's body.
LONGEST_FILE, LONGEST_FUNCTION = 310, 40

MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def room_of(parts):
    """The room of a module, given the parts of its name below the package."""
    return "/".join(parts[:2]) if parts[0] == "study" and len(parts) > 1 else parts[0]


def imports_of(path):
    """Modules of manifuse that a file imports, anywhere in it, as the parts of their names below the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            package = node.module.split(".")
            if package[0] == "manifuse":
                yield from ([*package[1:], alias.name] for alias in node.names)
        elif isinstance(node, ast.Import):
            assert not [alias for alias in node.names if alias.name.startswith("manifuse.")], path


def test_every_room_knows_exactly_the_rooms_that_it_may():
    known = {room: set() for room in KNOWS}
    for path in MODULES:
        room = room_of(path.relative_to(SOURCE).with_suffix("").parts)
        if room != "study/__init__":  # its docstring
            known[room] |= {room_of(parts) for parts in imports_of(path)} - {room, "__version__"}
    assert known == KNOWS


def test_the_product_does_not_know_the_study():
    of_the_study = {room for room in KNOWS if room.startswith("study/")}
    assert not [room for room in KNOWS.keys() - of_the_study if KNOWS[room] & of_the_study]


def test_no_room_knows_one_above_it():
    order = list(KNOWS)
    for room, others in KNOWS.items():
        assert not [other for other in others if order.index(other) >= order.index(room)], room


def test_every_room_is_on_the_plan():
    plan = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    assert not [room for room in KNOWS if f"`{room.split('/')[-1]}" not in plan]


def test_every_file_is_on_the_plan():
    plan = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`(\w+)`", plan))
    assert not {path.stem for path in MODULES} - named - {"__init__", "__main__"}


def test_a_file_name_occurs_once():
    stems = [path.stem for path in MODULES if path.stem not in ("__init__", "__main__")]
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
        room = room_of(path.relative_to(SOURCE).with_suffix("").parts)
        if room in ("kernels", "diffusion", "evidence", "columns", "study/ranking"):
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
