"""`manifuse datasets`: which data sets there are, which of them are in the data folder, and how to get them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from manifuse.cli.console import answer, people
from manifuse.errors import InputError, look_up

if TYPE_CHECKING:
    from manifuse_study.datasets.source import Source

app = typer.Typer(
    help="List the data sets, check which files are missing, and fetch them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DataOption = Annotated[
    Path | None, typer.Option("--data", help="The data folder; by default the one named in MANIFUSE_DATA.")
]

#: Digits of a checksum in the printed table.
SHOWN = 12


@app.command("list")
def list_command() -> None:
    """List the data sets in the paper's order."""
    from manifuse_study.datasets.catalogue import CATALOGUE

    table = Table("name", "title", "what it is")
    for source in CATALOGUE.values():
        table.add_row(source.name, escape(source.title), escape(source.summary))
    answer(table)


@app.command("check")
def check_command(
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Read every data set that is in the data folder, and say where the owners of the others publish them."""
    from manifuse_study.datasets.catalogue import CATALOGUE
    from manifuse_study.datasets.dataset import data_folder

    folder = data_folder(data)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; name the data folder with --data or MANIFUSE_DATA.")
    reports = [report(source, folder) for source in CATALOGUE.values()]
    if as_json:
        answer(json.dumps({"folder": str(folder), "datasets": reports}))
    else:
        _print(reports)


@app.command("fetch")
def fetch_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The data set, by its name in the list.")],
    data: DataOption = None,
) -> None:
    """Download the data set NAME from its owner into the data folder."""
    from manifuse_study.datasets.catalogue import CATALOGUE
    from manifuse_study.datasets.dataset import data_folder
    from manifuse_study.datasets.fetch import fetch

    folder = data_folder(data)
    with people.status(f"Fetching {escape(name)} ..."):
        dataset = fetch(look_up(name, CATALOGUE, kind="data set"), folder)
    answer(f"{dataset.title}: {len(dataset):,} rows in {folder}.")
    for path, checksum in dataset.checksums.items():
        answer(f"{checksum}  {path}")


def report(source: Source, folder: Path) -> dict[str, Any]:
    """State of a data set, present, missing or damaged, and what follows from that."""
    known = {"name": source.name, "title": source.title, "citation": source.citation}
    if not source.is_there(folder):
        fetching = f"; `manifuse datasets fetch {source.name}` downloads it" if source.address else ""
        return known | {
            "state": "missing",
            "expected": source.forms,
            "owner": source.owner,
            "fetchable": source.address is not None,
            "message": f"expected in the data folder: {source.expected}; published at {source.owner}{fetching}",
        }
    try:
        dataset = source.load(folder)
    except InputError as error:
        return known | {"state": "damaged", "message": str(error)}
    return known | {
        "state": "present",
        "rows": len(dataset),
        "tasks": list(dataset.tasks),
        # Rows of one class have the same labels in all tasks.
        "classes": len(set(zip(*(task.labels.tolist() for task in dataset.tasks.values()), strict=True))),
        "checksums": dict(dataset.checksums),
        "deviations": dataset.deviations,
    }


def _print(reports: list[dict[str, Any]]) -> None:
    numbers = (Column(heading, justify="right") for heading in ("rows", "tasks", "classes"))
    table = Table("name", "state", *numbers, "sha256")
    colours = {"present": "green", "missing": "yellow", "damaged": "red"}
    for each in reports:
        cells = [each["name"], f"[{colours[each['state']]}]{each['state']}[/]"]
        if each["state"] == "present":
            sums = "\n".join(f"{checksum[:SHOWN]} {escape(path)}" for path, checksum in each["checksums"].items())
            cells += [f"{each['rows']:,}", str(len(each["tasks"])), str(each["classes"]), sums]
        table.add_row(*cells)
    answer(table)
    for each in reports:
        for sentence in each.get("deviations", [each.get("message")]):
            answer(f"{each['name']}: {sentence}")
