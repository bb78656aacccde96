"""``manifuse apply``: rows that came later, refined by what was saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manifuse import __version__
from manifuse.cli.output import check_output, write_table
from manifuse.cli.paths import check_paths
from manifuse.cli.score_tables import observe, read_table
from manifuse.persistence import load
from manifuse.report.refinement_statistics import LITTLE


@dataclass(frozen=True)
class ApplyRequest:
    """What the command line asked for."""

    model: Path
    new: str
    out: Path
    features: str | None
    drop_invalid: bool


def run_apply(request: ApplyRequest) -> dict[str, Any]:
    """Read, apply, write; return what ``--json`` prints.

    Raises
    ------
    InputError
        If a file cannot be read or written, or the new rows have other features than the fitted ones.
    """
    check_output(request.out)
    check_paths(read=(request.model, request.new), written=(request.out,))
    result = load(request.model)
    table = read_table(request.new, features=request.features)
    new = observe(table, drop=request.drop_invalid)
    refined, support = result.apply_with_support(new)
    columns = {
        "id": table.ids[new.rows],
        "score": np.asarray(refined),
        "original": new.scores,
        "support": support,
    }
    write_table(request.out, columns)
    return {
        "accepted": result.accepted,
        "reason": str(result.reason),
        "rows": len(new),
        "fitted": int(np.isin(new.keys, result.main.keys).sum()),
        "little_support": int(np.sum(support < LITTLE)),
        "version": __version__,
        "seed": result.seed,
    }
