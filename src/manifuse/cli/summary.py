"""A summary of a refinement for people: a table of the references, and a few sentences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from manifuse.cli.console import people, say


def print_summary(summary: Mapping[str, Any], out: Path) -> None:
    """Print what `run_refine` returns, and where the rows were written."""
    table = Table(title="References")
    for heading in ("name", "pairs", "reached", "alignment", "on the pairs", "chance", "fidelity", "weight"):
        table.add_column(heading, justify="left" if heading == "name" else "right")
    for entry in summary["references"]:
        numbers = ("alignment", "held_out_alignment", "chance_alignment", "fidelity", "weight")
        table.add_row(
            escape(entry["name"]),
            str(entry["pairs"]),
            f"{entry['reached']:.0%}",
            *(f"{entry[name]:.2f}" for name in numbers),
        )
    people.print(table)
    if summary["accuracy"] is not None:
        for measure, before in summary["accuracy"]["before"].items():
            people.print(
                f"{measure} on the labels: {before:.4f} before, {summary['accuracy']['after'][measure]:.4f} after"
            )
    say(f"{summary['reason']} {summary['rows']} rows written to {out}.")
