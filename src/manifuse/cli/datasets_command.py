"""`manifuse datasets`: which data sets there are, which of them are in the data folder, and how to get them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from manifuse.cli.console import people
from manifuse.errors import InputError

if TYPE_CHECKING:
    from manifuse.study.datasets.catalogue import Entry
    from manifuse.study.datasets.dataset import Dataset

app = typer.Typer(
    help="The data sets of the paper: which there are, which are here, how to get them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

DataOption = Annotated[Path | None, typer.Option("--data", help="The data folder; else MANIFUSE_DATA.")]

#: Digits of a checksum that people are shown.
SHOWN = 12


@app.command("list")
def list_command() -> None:
    """List the data sets in the paper's order."""
    from manifuse.study.datasets.catalogue import CATALOGUE

    table = Table("name", "title", "what it is")
    for entry in CATALOGUE.values():
        table.add_row(entry.name, escape(entry.title), escape(entry.summary))
    Console().print(table)


@app.command("check")
def check_command(
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read every data set that is in the data folder, and say of the others where their owners publish them."""
    from manifuse.study.datasets.catalogue import CATALOGUE
    from manifuse.study.datasets.dataset import data_folder

    folder = data_folder(data)
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; name the data folder with --data or MANIFUSE_DATA.")
    reports = [report(entry, folder) for entry in CATALOGUE.values()]
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "datasets": reports}))
    else:
        _print(reports)


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The data set, as the list calls it.")],
    data: DataOption = None,
) -> None:
    """Download the data set NAME from its owner into the data folder."""
    from manifuse.study.datasets.catalogue import entry
    from manifuse.study.datasets.dataset import data_folder
    from manifuse.study.datasets.fetch import fetch

    folder = data_folder(data)
    with people.status(f"Fetching {escape(name)} ..."):
        dataset = fetch(entry(name), folder)
    console = Console()
    console.print(f"{dataset.title}: {len(dataset):,} rows in {folder}.", markup=False, soft_wrap=True)
    for path, checksum in dataset.checksums.items():
        console.print(f"{checksum}  {path}", markup=False, highlight=False, soft_wrap=True)


def report(entry: Entry, folder: Path) -> dict[str, Any]:
    """What is to be said of a data set: present, missing or damaged, and what follows from that."""
    known = {"name": entry.name, "title": entry.title, "citation": entry.citation}
    if not entry.is_there(folder):
        return known | {
            "state": "missing",
            "expected": [list(form) for form in entry.forms],
            "owner": entry.owner,
            "fetchable": entry.address is not None,
            "message": f"expected in the data folder: {entry.expected}; its owner publishes it: {entry.owner}"
            + (f"; `manifuse datasets fetch {entry.name}` gets it" if entry.address else ""),
        }
    try:
        dataset = entry.loader(folder)
    except InputError as error:
        return known | {"state": "damaged", "message": str(error)}
    return known | {
        "state": "present",
        "rows": len(dataset),
        "tasks": list(dataset.tasks),
        "classes": _classes(dataset),
        "checksums": dict(dataset.checksums),
        "deviations": list(dataset.deviations),
    }


def _classes(dataset: Dataset) -> int:
    """Kinds of rows: combinations of labels that are told apart by some task."""
    import numpy as np

    # Views share their labels, which are then looked at once.
    labels = {id(task.labels): task.labels for task in dataset.tasks.values()}
    return len(np.unique(np.column_stack(list(labels.values())), axis=0))


def _print(reports: list[dict[str, Any]]) -> None:
    console = Console()
    table = Table()
    for heading in ("name", "state", "rows", "tasks", "classes", "sha256"):
        table.add_column(heading, justify="right" if heading in ("rows", "tasks", "classes") else "left")
    colours = {"present": "green", "missing": "yellow", "damaged": "red"}
    for each in reports:
        state = f"[{colours[each['state']]}]{each['state']}[/]"
        if each["state"] != "present":
            table.add_row(each["name"], state)
            continue
        sums = "\n".join(f"{checksum[:SHOWN]} {escape(path)}" for path, checksum in each["checksums"].items())
        table.add_row(each["name"], state, f"{each['rows']:,}", str(len(each["tasks"])), str(each["classes"]), sums)
    console.print(table)
    for each in reports:
        for sentence in each.get("deviations", [each.get("message")]):
            console.print(f"{each['name']}: {sentence}", markup=False, highlight=False, soft_wrap=True)
