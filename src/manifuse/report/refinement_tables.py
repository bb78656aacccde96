"""A refinement as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from manifuse.diffusion.method import JointDiffusion, Setting, choices
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.refinement import Refinement
from manifuse.report.grid import ABSENT, Cell, Grid
from manifuse.report.refinement_statistics import (
    LITTLE,
    Metric,
    Move,
    Shift,
    Standing,
    by_weight,
    is_coupled,
    standings,
)

#: What a measure is called, and how its values are printed.
MEASURES = {
    "accuracy": ("ranking accuracy", "{:.2%}"),
    "rmse": ("root mean squared error", "{:.4g}"),
    "mae": ("mean absolute error", "{:.4g}"),
}


def given_grid(result: Refinement, references: Sequence[Observations]) -> Grid:
    """What went in: every table with its rows, and its own ids found in the main table."""
    sizes = {table.name: table for table in references}

    def line(name: str, role: str, table: Observations | None, pairs: str) -> tuple[Cell, ...]:
        width = None if table is None else 0 if table.table is None else table.table.shape[1]
        return _line(
            name,
            role,
            ABSENT if table is None else f"{len(table):,}",
            ABSENT if width is None else f"{width:,}",
            pairs,
        )

    return Grid(
        ("table", "role", "rows", "features", "common rows"),
        (
            line(result.main.name, "main predictor", result.main, ABSENT),
            *(line(entry.name, "reference", sizes.get(entry.name), f"{entry.pairs:,}") for entry in result.relevance),
        ),
    )


def outcome_grid(result: Refinement, shift: Shift) -> Grid:
    """What came out: measures on the labels before and after, and what became of the rows."""
    lines = []
    if result.accuracy is not None:
        for name, before in result.accuracy["before"].items():
            words, form = MEASURES[name]
            after = result.accuracy["after"][name]
            lines.append(_line(f"{words} on the labels, before", form.format(before)))
            lines.append(_line(f"{words} on the labels, after", form.format(after)))
    if result.gain is not None:
        gain = result.gain
        shown = f"{gain.value:+.4g} ± {gain.standard_error:.4g}"
        if not result.method.is_regression:
            shown = f"{100 * gain.value:+.2f} ± {100 * gain.standard_error:.2f} points"
        what = "gain" if result.accepted else "gain of the refinement that was not accepted"
        lines.append(_line(what, shown))
        lines.append(_line("labelled rows", f"{gain.rows:,}"))
    lines.append(_line("rows", f"{len(shift.keys):,}"))
    if result.accepted:
        lines.append(_line("rank correlation of scores before and after", f"{shift.correlation:.3f}"))
        lines.append(_line("places that half of the rows moved by at most", f"{shift.median_places:,.1f}"))
        lines.append(_line("share of the highest tenth that stays there", f"{shift.top_kept:.1%}"))
        if result.weights.any():
            lines.append(_line(f"rows with hardly any evidence (support below {LITTLE})", f"{shift.little_support:,}"))
    return Grid(("result", "value"), tuple(lines))


def relevance_grid(result: Refinement) -> Grid:
    """What is known of every reference, those of the largest weight first."""
    parts = standings(result)
    lines = []
    for place in by_weight(result):
        entry, took_part = result.relevance[place], parts[place] is Standing.TOOK_PART
        lines.append(
            (
                Cell(entry.name),
                Cell(_weight(entry.weight), strong=took_part),
                Cell(f"{entry.held_out_alignment:+.3f}"),
                Cell(f"{entry.chance_alignment:.3f}"),
                Cell(f"{entry.alignment:+.3f}"),
                Cell("needs none" if is_coupled(result, place) else f"{entry.fidelity:+.3f}"),
                Cell(f"{entry.reached:.1%}"),
                Cell(f"{entry.pairs:,}"),
                Cell(parts[place]),
            )
        )
    head = (
        "reference",
        "weight",
        "held-out alignment",
        "chance level",
        "alignment, refined",
        "fidelity of the bridge",
        "rows reached",
        "pairs",
        "part",
    )
    return Grid(head, tuple(lines))


def metric_grid(metric: Metric) -> Grid:
    """Alignment of everything with everything."""
    lines = (
        _line(name, *(f"{value:+.3f}" for value in row))
        for name, row in zip(metric.names, metric.values.tolist(), strict=True)
    )
    return Grid(("alignment", *metric.names), tuple(lines))


def moves_grid(moves: Sequence[Move]) -> Grid:
    """Rows whose rank changed, with their support."""
    lines = (
        (
            Cell(move.id),
            Cell(f"{move.rise:+,.0f}", strong=True),
            Cell(f"{move.rank_before:,.0f}"),
            Cell(f"{move.rank_after:,.0f}"),
            Cell(f"{move.before:.4g}"),
            Cell(f"{move.after:.4g}"),
            Cell(f"{move.support:.2f}"),
        )
        for move in moves
    )
    return Grid(("id", "places", "rank before", "rank after", "score before", "score after", "support"), tuple(lines))


def hyperparameters_grid(result: Refinement) -> Grid:
    """The hyperparameters used, and where they come from."""
    method, choice, setting = result.method, result.choice, result.choice.setting
    lines = []
    if is_coupled(result):
        lines.append(_line("graphs and bridges", ABSENT, "every reference is known on all main rows"))
    else:
        rule = "pairs held out" if method.selection == "held-out" else "alignment"
        bridged: Mapping[str, tuple[str, object, object]] = {
            "neighbours": ("neighbours in the graphs", setting.neighbours, method.neighbours),
            "score_scale": ("scale of scores in the graphs", setting.score_scale, method.score_scale),
            "bridge": ("bridge", setting.bridge, method.bridge),
        }
        for name, (words, value, candidates) in bridged.items():
            lines.append(_line(words, _text(value), _origin(name, candidates, f"by {rule}")))
        ours, *theirs = choice.standardised
        flags = [flag for flag in theirs if flag is not None]
        standardised = f"{result.main.name}: {_text(ours)}; references: {sum(flags):,} of {len(flags):,}"
        origin = _origin("standardised", method.standardised, "by pairs held out, table by table")
        lines.append(_line("features standardised", standardised, origin))
    taken = [step for step in result.history if step.step > 0]
    for words, value, axis, given in (
        ("step size of the diffusion (δ)", choice.step_size, choice.step_sizes, method.step_size),
        ("weight scale of the diffusion (σ²)", choice.weight_scale, choice.weight_scales, method.weight_scale),
    ):
        origin = "default without labels" if given is None else "given"
        if not taken:
            lines.append(_line(words, ABSENT, "no step was taken"))
            continue
        if len(axis) > 1:
            origin = f"chosen by the labels from {len(axis)}, in every round; this is the first"
        lines.append(_line(words, f"{value:.4g}", origin))
    smoothing = choice.presmoothing
    if smoothing is not None:
        parameters = smoothing.hyperparameters() | {"scale": smoothing.scale}
        lines.append(_line("smoothing before the diffusion", _named(parameters), "chosen by the labels"))
    else:
        lines.append(_line("smoothing before the diffusion", "none", ""))
    rounds = len({step.round for step in taken})
    lines.append(_line("rounds", f"{rounds:,}", f"of at most {method.rounds:,}, with {len(taken):,} steps"))
    return Grid(("hyperparameter", "value", "where from"), tuple(lines))


def trials_grid(result: Refinement) -> Grid | None:
    """Settings tried for graphs and bridges, the chosen one strong; None if there was nothing to choose."""
    trials = result.choice.trials
    if not trials:
        return None
    lines = tuple(
        tuple(
            Cell(text, strong=trial.setting == result.choice.setting)
            for text in (
                *(_text(getattr(trial.setting, field.name)) for field in fields(Setting)),
                f"{trial.criterion:.4f}",
            )
        )
        for trial in trials
    )
    return Grid(("neighbours", "scale of scores", "bridge", "criterion"), lines)


def method_grid(method: JointDiffusion) -> Grid:
    """Every field of the method as it was given."""
    values = ((field.name, getattr(method, field.name)) for field in fields(method))
    return Grid(("field", "value"), tuple(_line(name, _text(value)) for name, value in values))


def _weight(weight: float) -> str:
    # One that took part is not to look as if it had none.
    return "<0.001" if 0 < weight < 0.0005 else f"{weight:.3f}"


def _origin(name: str, candidates: object, rule: str) -> str:
    if isinstance(candidates, tuple) and len(candidates) > 1:
        return f"chosen {rule}"
    return "default" if candidates == getattr(JointDiffusion(), name) else "given"


def _text(value: object) -> str:
    """A hyperparameter as one reads it."""
    if isinstance(value, BridgeScheme):
        return f"{type(value).__name__}({_named(value.parameters())})"
    if isinstance(value, tuple):
        return ", ".join(_text(entry) for entry in choices(value))
    if value is None:
        return "chosen by the labels, if there are any"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _named(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_text(value)}" for name, value in parameters.items())


def _line(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)
