"""``manifuse demo``: the decoupled protocol on handwritten digits, as a table and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from manifuse import __version__
from manifuse.cli.console import people
from manifuse.errors import InputError, require
from manifuse.files import check_writable, write_whole
from manifuse.kernels.arrays import FloatArray
from manifuse.refinement import Refinement
from manifuse.report.drawing import as_svg
from manifuse.report.refinement_figures import draw_surface
from manifuse.study.datasets.dataset import Dataset, data_folder
from manifuse.study.datasets.digits import digits
from manifuse.study.datasets.hw import HW
from manifuse.study.experiments.methods import METHODS
from manifuse.study.experiments.plan import EXPERIMENTS
from manifuse.study.experiments.result_figures import draw_methods, draw_relevance
from manifuse.study.experiments.trial import Trial

#: What is shown, and under which heading: the predictor as it is, the control, the method without and with labels, the
#: ceiling.
SHOWN = {
    "Ind": "alone",
    "self-smoothing": "self-smoothed",
    "JMD, no labels": "refined, no labels",
    "JMD": "refined",
    "coupled oracle": "oracle",
}
HEADINGS = tuple(SHOWN.values())


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the demo found.

    Attributes
    ----------
    accuracies : mapping of method to mapping of view to float
        Mean test accuracy over the splits.
    refinements : mapping of view to Refinement
        With labels, of the last split.
    """

    accuracies: Mapping[str, Mapping[str, float]]
    refinements: Mapping[str, Refinement]

    def mean(self, method: str) -> float:
        """Mean accuracy over the views."""
        return float(np.mean(list(self.accuracies[method].values())))

    def best_single(self) -> float:
        """Accuracy of the best predictor alone."""
        return max(self.accuracies["Ind"].values())


def run_demo(name: str, data: Path | None, out: Path, *, splits: int, seed: int) -> None:
    """Run the protocol, print the tables, write the page.

    Raises
    ------
    InputError
        If the dataset is unknown or not there, or the page cannot be written.
    """
    if name not in ("digits", "hw"):
        raise InputError(f"--dataset {name} came, but digits or hw was expected.")
    check_writable(out)
    require("matplotlib", extra="figures", purpose="The page of the demo")
    dataset = digits() if name == "digits" else HW.load(data_folder(data))
    outcome = measure(dataset, splits=splits, seed=seed)
    page = render(dataset, outcome, splits=splits, seed=seed)
    write_whole(out, lambda temporary: _write_text(temporary, page))
    console = Console(width=100)
    console.print(_accuracy_table(dataset, outcome))
    console.print(f"best single predictor: {outcome.best_single():.3f}", highlight=False)
    console.print(_relevance_table(outcome))
    console.print(f"The page with the pictures is {out}.", highlight=False, markup=False)


def measure(dataset: Dataset, *, splits: int, seed: int) -> Outcome:
    """Run every method on every view of every split, under a progress bar."""
    protocol, views = EXPERIMENTS[dataset.name].protocol, list(dataset.tasks)
    collected: dict[str, dict[str, list[float]]] = {method: {view: [] for view in views} for method in SHOWN}
    refinements = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=people, transient=True) as progress:
        # Training a ranker takes about as long as running one method.
        work = progress.add_task("", total=splits * len(views) * (1 + len(SHOWN)))
        for split in range(seed, seed + splits):
            progress.update(work, description=f"split {split}: training rankers")
            trial = Trial.prepare(dataset, protocol, split, tick=lambda: progress.advance(work))
            for view in views:
                progress.update(work, description=f"split {split}: refining {view}")
                for method in SHOWN:
                    case = trial.case(view)
                    outcome = METHODS[method].run(case)
                    collected[method][view].append(case.test_accuracy(outcome.predictions))
                    progress.advance(work)
                    if method == "JMD" and outcome.refinement is not None:
                        refinements[view] = outcome.refinement
    means = {
        method: {view: float(np.mean(values)) for view, values in by_view.items()}
        for method, by_view in collected.items()
    }
    return Outcome(means, refinements)


def render(dataset: Dataset, outcome: Outcome, *, splits: int, seed: int) -> str:
    """Render the page, with its pictures and its style inside."""
    views, protocol = list(dataset.tasks), EXPERIMENTS[dataset.name].protocol
    shown = max(
        outcome.refinements, key=lambda view: outcome.accuracies["JMD"][view] - outcome.accuracies["Ind"][view]
    )
    templates = files("manifuse.cli") / "templates"
    rows = {view: [outcome.accuracies[method][view] for method in SHOWN] for view in views}
    better = sum(outcome.accuracies["JMD"][view] > outcome.best_single() for view in views)
    chance = max(entry.chance_alignment for result in outcome.refinements.values() for entry in result.relevance)
    return Template((templates / "demo.html").read_text(encoding="utf-8")).substitute(
        title=escape(dataset.title),
        style=(templates / "demo.css").read_text(encoding="utf-8"),
        summary=(
            f"{len(views)} rankers of handwritten digits were each refined by the scores of {len(views) - 1} others "
            f"that saw <em>other digits through other features</em>. {protocol.pairs} digits are known on both sides. "
            f"Mean accuracy rises from {outcome.mean('Ind'):.1%} to <strong>{outcome.mean('JMD'):.1%}</strong>; "
            f"smoothing without any reference reaches {outcome.mean('self-smoothing'):.1%}. "
            f"{better} of {len(views)} end above the best single predictor ({outcome.best_single():.1%})."
        ),
        methods=as_svg(draw_methods(outcome.accuracies, title=dataset.title)),
        table=_html_table(rows, [outcome.mean(method) for method in SHOWN]),
        relevance=as_svg(draw_relevance(views, relevance_matrix(views, outcome.refinements))),
        surface=as_svg(draw_surface(outcome.refinements[shown].choice, title=f"main predictor: {shown}")),
        chance=f"{chance:.2f}",
        protocol=(
            f"{dataset.title}. {len(dataset):,} rows are split into {protocol.pairs} pairs, a main half and a "
            f"reference half. Main rankers are trained on {protocol.training} rows of the main half; "
            f"{protocol.validation} others choose all hyperparameters; accuracy is the share of correctly ordered "
            "pairs among the rest, which is used for nothing else. "
            f"Mean over {splits} split{'s' if splits > 1 else ''}. The oracle combines references that "
            "are known on all main rows; it has no need of features, and makes no use of them."
        ),
        provenance=f"manifuse {__version__}, seed {seed}. How to do this with your own tables is in the README.",
    )


def relevance_matrix(views: list[str], refinements: Mapping[str, Refinement]) -> FloatArray:
    """Alignment on the pairs, main predictors by references; NaN on the diagonal."""
    matrix = np.full((len(views), len(views)), np.nan)
    for row, view in enumerate(views):
        for entry in refinements[view].relevance:
            matrix[row, views.index(entry.name)] = entry.held_out_alignment
    return matrix


def _accuracy_table(dataset: Dataset, outcome: Outcome) -> Table:
    table = Table(title=f"{dataset.title}: accuracy on test rows")
    table.add_column("main predictor")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for view in dataset.tasks:
        table.add_row(view, *(f"{outcome.accuracies[method][view]:.3f}" for method in SHOWN))
    table.add_section()
    table.add_row("mean", *(f"{outcome.mean(method):.3f}" for method in SHOWN), style="bold")
    return table


def _relevance_table(outcome: Outcome) -> Table:
    table = Table(title="Relevance of each reference, mean over main predictors")
    for heading in ("reference", "alignment", "on the pairs", "chance", "fidelity", "reached"):
        table.add_column(heading, justify="left" if heading == "reference" else "right")
    for view in outcome.refinements:
        entries = [
            entry for result in outcome.refinements.values() for entry in result.relevance if entry.name == view
        ]
        numbers = ("alignment", "held_out_alignment", "chance_alignment", "fidelity", "reached")
        means = [np.mean([abs(getattr(entry, number)) for entry in entries]) for number in numbers]
        table.add_row(view, *(f"{value:.2f}" for value in means))
    return table


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _html_table(rows: Mapping[str, Sequence[float]], means: Sequence[float]) -> str:
    head = "".join(f"<th>{heading}</th>" for heading in ("main predictor", *HEADINGS))
    ours = HEADINGS.index("refined")

    def line(name: str, values: Sequence[float]) -> str:
        cells = "".join(
            f"<td{' class=ours' if place == ours else ''}>{value:.1%}</td>" for place, value in enumerate(values)
        )
        return f"<td>{escape(name)}</td>{cells}"

    body = "".join(f"<tr>{line(name, values)}</tr>" for name, values in rows.items())
    foot = f"<tr class=mean>{line('mean', means)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}{foot}</tbody></table>"
