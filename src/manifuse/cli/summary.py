"""A short summary of a refinement: plain data for programs, a table for people."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from manifuse import __version__
from manifuse.cli.console import people, say
from manifuse.refinement import Refinement


def summarise(result: Refinement, *, seconds: float) -> dict[str, Any]:
    """Describe the result as plain data."""
    choice = result.choice
    return {
        "accepted": result.accepted,
        "reason": str(result.reason),
        "accuracy": None if result.accuracy is None else dict(result.accuracy),
        "gain": None if result.gain is None else asdict(result.gain),
        "references": [asdict(relevance) for relevance in result.relevance],
        "hyperparameters": {
            "neighbours": choice.setting.neighbours,
            "score_scale": choice.setting.score_scale,
            "standardised": list(choice.standardised),
            "recall": list(choice.recall),
            "bridge": {"scheme": type(choice.setting.bridge).__name__, **choice.setting.bridge.parameters()},
            "step_size": choice.step_size,
            "weight_scale": choice.weight_scale,
            "presmoothing": None if choice.presmoothing is None else choice.presmoothing.hyperparameters(),
            "rounds": result.history[-1].round,
        },
        "rows": len(result.main),
        "seconds": round(seconds, 3),
        "version": __version__,
        "seed": result.seed,
    }


def print_summary(summary: dict[str, Any], out: Path) -> None:
    """Print a summary, and where the rows were written."""
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
