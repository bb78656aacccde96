"""Options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

References = Annotated[list[str] | None, typer.Option(help="A table of another predictor; give one or more.")]
Labels = Annotated[Path | None, typer.Option(help="What is known of the truth: id, label or better, worse.")]
Pairs = Annotated[Path | None, typer.Option(help="Which ids are the same thing: main, reference (and table).")]
FeatureNames = Annotated[str | None, typer.Option(help="Expression that feature columns match.")]
Task = Annotated[str | None, typer.Option(help="What labels measure: ranking (the default) or regression.")]
DropInvalid = Annotated[
    bool | None, typer.Option("--drop-invalid/--keep-invalid", help="Drop rows with NaN or infinite values.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
