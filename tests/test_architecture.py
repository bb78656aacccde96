"""The floors of CONTRIBUTING.md: imports go down only, and the core stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "manifuse"

#: The other rooms that each room may import.
MAY_IMPORT = {
    "kernels": set(),
    "errors": set(),
    "machine": set(),
    "files": {"machine", "errors"},
    "diffusion": {"kernels", "machine", "errors"},
    "persistence": {"diffusion", "files", "errors"},
    "cache": {"diffusion", "files", "kernels", "errors"},
    "cluster": {"diffusion", "kernels", "machine", "errors"},
    "combiner": {"persistence", "diffusion", "kernels", "errors"},
    "report": {"diffusion", "kernels", "files", "errors"},
    "ranking": {"diffusion", "kernels", "errors"},
    "baselines": {"ranking", "diffusion", "kernels", "errors"},
    "datasets": {"diffusion", "kernels", "files", "errors"},
    "experiments": {
        "baselines",
        "datasets",
        "ranking",
        "combiner",
        "cluster",
        "report",
        "diffusion",
        "kernels",
        "errors",
    },
    "page": {"diffusion", "kernels", "errors"},
    "cli": {
        "page",
        "experiments",
        "datasets",
        "baselines",
        "ranking",
        "combiner",
        "cache",
        "cluster",
        "persistence",
        "report",
        "diffusion",
        "kernels",
        "files",
        "machine",
        "errors",
        "manifuse",
    },
}


def imported_rooms(path: Path) -> set[str]:
    """Find the rooms of manifuse that a module imports, anywhere in its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "manifuse":
                found.add(parts[1] if len(parts) > 1 else "manifuse")
    return found


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert imported_rooms(path) <= MAY_IMPORT[room] | {room}


def test_every_room_is_on_the_plan():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES}
    assert rooms == set(MAY_IMPORT)
    plan = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text()
    assert all(f"`{room}" in plan for room in rooms)


def test_the_core_imports_nothing_heavy():
    code = "import sys, manifuse; manifuse.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "manifuse.run" in loaded
    # Where pandas is installed, scikit-learn imports it.
    assert not loaded & {"torch", "matplotlib", "polars", "faiss", "typer"}


def test_computations_use_no_files_and_no_clock():
    forbidden = {"pathlib", "time", "datetime", "os", "io", "matplotlib", "subprocess"}
    for path in MODULES:
        if path.relative_to(SOURCE).parts[0].removesuffix(".py") in ("kernels", "diffusion", "ranking"):
            tree = ast.parse(path.read_text())
            names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
            names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
            assert not names & forbidden, path


def test_no_module_has_a_name_like_utils():
    assert not {path.stem for path in MODULES} & {"utils", "helpers", "common", "misc"}
