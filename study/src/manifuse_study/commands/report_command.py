"""``manifuse report``: the rows of a results folder as one page, as figures and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.progress import Progress

from manifuse.cli.console import answer, people
from manifuse.errors import InputError
from manifuse.files import bytes_writer, check_place, identity, write_together
from manifuse.report.markup import page_writer
from manifuse.report.refinement_page import check_report
from manifuse.tables.paths import check_paths
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.synthetic import TASKS
from manifuse_study.experiments.claims import Evidence, judge_claims
from manifuse_study.experiments.plan import deviations_of
from manifuse_study.experiments.results_page import (
    choose_surfaces,
    draw_figures,
    results_files,
    results_page,
)
from manifuse_study.experiments.rows import rows_csv
from manifuse_study.experiments.statistics import summarise
from manifuse_study.experiments.store import read_rows


def write_report(
    folder: Path,
    out: Path,
    *,
    rows: Path | None = None,
    surfaces: Sequence[str] = (),
    files: Path | None = None,
    data: Path | None = None,
) -> None:
    """Write the page, and the other files on request; each file completely or not at all.

    Parameters
    ----------
    folder : Path
        Of the results.
    out : Path
        The page, which loads nothing from elsewhere.
    rows : Path, optional
        For the rows as CSV.
    surfaces : sequence of str
        ``"dataset/task"``: the accuracy surfaces to show besides the paper's.
    files : Path, optional
        A folder for figures as SVG and PDF and tables as CSV and LaTeX; made if its parent is there.
    data : Path, optional
        The data folder, as of `data_folder`: the data sets there say how they differ from the paper's.

    Raises
    ------
    InputError
        If a data folder was named that is not there, the rows cannot be read or have no result, or something cannot be
        written.
    """
    check_report(out)
    if data is not None and not data.is_dir():
        raise InputError(f"The data folder {data} is not there; name another with --data, or leave it out.")
    check_paths(read=(folder / "rows.jsonl", folder / "run.json"), written=(out, rows))
    if files is not None:
        check_place(files)
    read = read_rows(folder)
    if not any(row.status == "done" for row in read):
        raise InputError(f"{folder} has {len(read)} rows, but none with a result; run 'manifuse reproduce' first.")
    chosen = choose_surfaces(read, surfaces)
    summaries = summarise(read)
    findings = judge_claims(Evidence(summaries))
    with Progress(console=people, transient=True) as progress:
        work = progress.add_task("toy figure", total=TASKS)
        figures = draw_figures(summaries, chosen, tick=lambda: progress.advance(work))
    deviations = deviations_of(summaries, data_folder(data))
    page = results_page("results.html", summaries, findings, deviations, chosen, figures)
    writes = {out: page_writer(page)}
    if rows is not None:
        writes[rows] = bytes_writer(rows_csv([row.flat() for row in read]))
    if files is not None:
        try:
            files.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{files} cannot be made a folder ({error.strerror}); give another.") from None
        made = {files / name: bytes_writer(each) for name, each in results_files(summaries, figures).items()}
        names = {identity(path): path for path in writes}
        twice = next((names[identity(path)] for path in made if identity(path) in names), None)
        if twice is not None:
            raise InputError(f"{twice} would be written twice; name it otherwise, or give another folder of files.")
        writes |= made
    write_together(writes)
    answer(f"The report is {out}.")
