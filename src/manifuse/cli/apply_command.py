"""``manifuse apply``: refine rows that came later by a saved refinement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manifuse import __version__
from manifuse.cli.column_checks import ColumnNames
from manifuse.cli.console import once
from manifuse.cli.output import TableWriter, check_output, refined_columns
from manifuse.cli.paths import check_paths
from manifuse.cli.score_tables import observe, read_windows
from manifuse.diffusion.seen_ids import SeenIds
from manifuse.persistence import load
from manifuse.report.refinement_statistics import LITTLE


def run_apply(
    model: Path,
    table: str,
    out: Path,
    *,
    id: str = "id",  # noqa: A002
    score: str = "score",
    drop: Sequence[str] = (),
    features: str | None = None,
    drop_invalid: bool = False,
    tell: Callable[[str], None] = lambda done: None,
) -> dict[str, Any]:
    """Read a saved refinement and a table, apply, write; return what ``--json`` prints.

    Tables of Parquet and Arrow are read, refined and written in windows; ``tell`` gets how far it is.

    Raises
    ------
    InputError
        If a file cannot be read or written, or the new rows lack features of the fitted ones.
    """
    check_output(out)
    check_paths(read=(model, table), written=(out,))
    result = load(model)
    columns = ColumnNames(id, score, drop=tuple(drop), all_there=True)
    total, tables = read_windows(table, features=features, fitted=result.main.feature_names, columns=columns)
    rows, fitted, little, seen = 0, 0, 0, SeenIds(Path(table).stem)
    with TableWriter(out) as writer, once():
        for part in tables:
            new = observe(part, drop=drop_invalid, scale=result.main.scale)
            seen.add(new.keys)
            applied = result.apply_in_full(new)
            original = new.in_scale(new.scores)
            ids = part.ids[new.rows]
            writer.add(refined_columns(ids, original, applied.predictions, applied.support, applied.errors))
            rows += len(new)
            fitted += int(np.isin(new.keys, result.main.keys).sum())
            little += int(np.sum(applied.support < LITTLE))
            tell(f"{rows:,} of {total:,} rows")
        seen.check()
        writer.finish()
    return {
        "accepted": result.accepted,
        "reason": str(result.reason),
        "rows": rows,
        "fitted": fitted,
        "little_support": little,
        "version": __version__,
        "seed": result.seed,
    }
