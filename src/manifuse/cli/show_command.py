"""``manifuse show``: what a saved refinement is, what it was made of, and what it expects of later rows."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from manifuse.grid import many, told_apart
from manifuse.run.persistence import FORMAT, load
from manifuse.words.finding import listed
from manifuse.words.wording import fill, verdict_of


def run_show(model: Path) -> dict[str, Any]:
    """Read a saved refinement; return what ``--json`` prints.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    result = load(model)
    made, main = result.provenance, result.fitted_model.main
    classes = None if main.classes is None else list(main.classes.names)
    return {
        "format": FORMAT,
        "version": made.version,
        "date": made.date,
        "libraries": dict(made.libraries),
        "seed": result.seed,
        "tables": [asdict(table) for table in made.tables],
        "fitted": len(main),
        "accepted": result.accepted,
        "verdict": verdict_of(result.evidence),
        "reason": result.reason.name,
        "why": result.why,
        "expects": {
            "id": main.called.id,
            "score": None if classes else main.called.score,
            "classes": classes,
            "class_columns": made.classes,
            "scale": main.scale,
            "features": None if main.feature_names is None else list(main.feature_names),
            "width": 0 if main.table is None else main.table.shape[1],
            "dropped": list(main.called.drop),
        },
    }


def lines_of_model(model: Path, facts: Mapping[str, Any]) -> Iterator[str]:
    """Say what `run_show` returns."""
    yield f"{model}: format {facts['format']}, written by manifuse {facts['version']} on {facts['date']}."
    libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items())
    yield f"Seed {facts['seed']}; {libraries}."
    yield fill(f"{facts['verdict']} {facts['why']}")
    yield ""
    for table in facts["tables"]:
        rows = "" if table["rows"] is None else f", {many(table['rows'], 'row')}"
        yield f"{table['role']}: {table['name']}{rows}"
        for file in table["files"]:
            yield f"  {file['name']}, {file['size']:,} bytes, sha256 {file['sha256']}"
    yield f"Of the main table, {facts['fitted']:,} rows were fitted."
    yield ""
    yield fill(f"Later rows need {listed([*_needed(facts['expects'])])}.")
    if facts["expects"]["dropped"]:
        yield fill(f"Not used: {told_apart(facts['expects']['dropped'])}.")


def _needed(expects: Mapping[str, Any]) -> Iterator[str]:
    """Each thing that later rows need."""
    yield f"an id ({expects['id']})"
    if expects["classes"]:
        named = f", columns {expects['class_columns']}" if expects["class_columns"] else ""
        yield f"the {expects['scale']} of {', '.join(expects['classes'])}{named}"
    else:
        yield f"a {expects['scale']} ({expects['score']})"
    if expects["width"]:
        names = "in the order of the fit" if expects["features"] is None else told_apart(expects["features"])
        yield f"{many(expects['width'], 'feature')} ({names})"
