"""``manifuse apply``: refine rows that came later by a saved refinement."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manifuse import __version__
from manifuse.cli.column_checks import ColumnNames
from manifuse.cli.output import check_output, refined_columns, write_table
from manifuse.cli.paths import check_paths
from manifuse.cli.score_tables import observe, read_table
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
) -> dict[str, Any]:
    """Read a saved refinement and a table, apply, write; return what ``--json`` prints.

    Raises
    ------
    InputError
        If a file cannot be read or written, or the new rows lack features of the fitted ones.
    """
    check_output(out)
    check_paths(read=(model, table), written=(out,))
    result = load(model)
    columns = ColumnNames(id, score, drop=tuple(drop), all_there=True)
    rows = read_table(table, features=features, fitted=result.main.feature_names, columns=columns)
    new = observe(rows, drop=drop_invalid, scale=result.main.scale)
    applied = result.apply_in_full(new)
    ids = rows.ids[new.rows]
    original = new.in_scale(new.scores)
    write_table(out, refined_columns(ids, original, applied.predictions, applied.support, applied.errors))
    return {
        "accepted": result.accepted,
        "reason": str(result.reason),
        "rows": len(new),
        "fitted": int(np.isin(new.keys, result.main.keys).sum()),
        "little_support": int(np.sum(applied.support < LITTLE)),
        "version": __version__,
        "seed": result.seed,
    }
