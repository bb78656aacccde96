"""``manifuse apply``: refine rows that came later by a saved refinement."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from manifuse import __version__
from manifuse.errors import warn
from manifuse.files import check_writable
from manifuse.grid import many
from manifuse.run.later_files import apply_here, apply_on_engine, check_folder
from manifuse.run.persistence import load
from manifuse.tables.output import check_output
from manifuse.tables.paths import check_paths


def run_apply(
    model: Path,
    table: str,
    out: Path,
    *,
    drop_invalid: bool = False,
    escape_formulas: bool = False,
    engine: str | None = None,
    tell: Callable[[int, int], None] = lambda done, total: None,
    **columns: Any,
) -> dict[str, Any]:
    """Read a saved refinement and a table, apply, write; return what ``--json`` prints.

    Tables of Parquet and Arrow are read, refined and written in windows; ``tell`` gets how many rows are
    done, and how many there are.

    Raises
    ------
    InputError
        If a file cannot be read or written, or the new rows lack features of the fitted ones.
    """
    if engine is None:
        check_output(out)
    check_paths(read=(model, table), written=(out,), check=check_writable if engine is None else check_folder)
    result = load(model)
    later = result.provenance.table_of_later(table, result.fitted_model.main, **columns)
    if engine is None:
        parts = apply_here(result, later, out, drop_invalid=drop_invalid, escape=escape_formulas)
    else:
        parts = apply_on_engine(result, later, drop_invalid, out, engine)
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part.counts)
        tell(found["rows"], part.total)
    if not found["rows"]:
        warn("no_rows", f"{table} has no rows, so {out} has none.")
    return {
        "accepted": result.accepted,
        "reason": result.reason.name,
        "why": result.why,
        **found,
        # Without references there is no support to be little.
        "little_support": found["little_support"] if result.weights.any() else None,
        "version": __version__,
        "seed": result.seed,
    }


def told_of(summary: dict[str, Any], out: Path) -> str:
    """Say what became of rows that came later."""
    were = "was" if summary["already_fitted"] == 1 else "were"
    said = f"{many(summary['rows'], 'row')} written to {out}; {summary['already_fitted']:,} of them {were} in the fit"
    if summary["changed"]:
        said += f" ({summary['changed']:,} of these came with other scores or features)"
    if summary["little_support"]:
        rows, are = many(summary["little_support"], "row"), "is" if summary["little_support"] == 1 else "are"
        said += f", and {rows} {are} unlike all rows that the references know"
    said += "."
    stay, all_stay = summary["unmoved"], summary["unmoved"] == summary["rows"]
    if stay and (all_stay or summary["reason"] == "PAIRS"):
        whose = "Their scores" if all_stay else f"Scores of {many(stay, 'row')}"
        said += f" {whose} are unchanged: {summary['why']}"
    return said
