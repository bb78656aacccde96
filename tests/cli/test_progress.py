"""Progress: long work says on a terminal how far it is, and nothing elsewhere."""

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import manifuse as mf
from manifuse.cli import console
from manifuse.cli.apply_command import run_apply
from manifuse.rivals import comparison


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_bar_is_shown_on_a_terminal_alone(is_terminal, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(console, "people", Console(file=shown, force_terminal=is_terminal, width=80))
    with console.progress("Comparing ...") as tell:
        tell(1, 4)
        tell(2, None)
    assert ("Comparing ..." in shown.getvalue()) == is_terminal
    assert bool(shown.getvalue()) == is_terminal


def test_compare_tells_of_every_fit(monkeypatch):
    clinics, told = mf.datasets.load_clinics(labels=60), []
    methods = dict.fromkeys(("refine", "alone"), lambda main, references, labels, rng: main.scores)
    monkeypatch.setattr(comparison, "_methods", lambda *given, **more: methods)
    mf.rivals.compare(clinics.main, [], clinics.labels, tell=lambda *done: told.append(done))
    assert told == [(done, 10) for done in range(1, 11)]


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
@pytest.mark.parametrize("command", ["apply", "engine"])
def test_apply_tells_of_every_part(tmp_path, monkeypatch, request, command):
    clinics, told = mf.datasets.load_clinics(), []
    mf.save(mf.refine(clinics.main, clinics.references, rng=0), tmp_path / "model.npz")
    columns = dict(zip(clinics.main.feature_names, clinics.main.table.T, strict=True))
    later = pl.DataFrame({"id": np.arange(259), "score": clinics.main.scores} | columns)
    later.write_parquet(tmp_path / "later.parquet")
    monkeypatch.setattr("manifuse.run.later_files.WINDOW", 100)
    monkeypatch.setattr("manifuse.run.later_files.ROWS", 100)
    run_apply(
        tmp_path / "model.npz",
        str(tmp_path / "later.parquet"),
        tmp_path / ("out.csv" if command == "apply" else "out"),
        engine=request.getfixturevalue("cluster") if command == "engine" else None,
        tell=lambda *done: told.append(done),
    )
    if command == "apply":
        assert told == [(100, 259), (200, 259), (259, 259)]
    # Workers end in any order.
    assert told[-1] == (259, 259)
    assert [total for _, total in told] == [259, 259, 259]
