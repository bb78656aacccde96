"""A refinement as tables."""

from collections.abc import Sequence

import numpy as np

from manifuse.columns.diffused import ROUNDS_ALONE
from manifuse.columns.view import features_of
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.evidence.gain import UNITS
from manifuse.evidence.relevance import Standing
from manifuse.grid import ABSENT, Grid, StrongText, figures, first_of, many, strong_if
from manifuse.kernels.arrays import IndexArray
from manifuse.report.class_shift import ClassShift
from manifuse.report.refinement_statistics import Shift, by_weight, shown_metric
from manifuse.run.method import parameters_of
from manifuse.run.refinement import Refinement
from manifuse.tables.observations import Observations
from manifuse.words.finding import named
from manifuse.words.label_findings import measured_as
from manifuse.words.reasons import STANDINGS

#: Names of columns that the page lists.
LISTED = 50


def given_grid(result: Refinement, references: Sequence[Observations]) -> Grid:
    """The input: every table with its rows, those that the main table has, and its features, where they are known."""
    tables = (result.main, *references)
    widths = {(each is result.main, each.name): f"{features_of(each).shape[1]:,}" for each in tables}
    pairs = {entry.name: f"{entry.pairs:,}" for entry in result.relevance}
    return Grid.of(
        {
            "table": table.name,
            "role": table.role,
            "rows": ABSENT if table.rows is None else f"{table.rows:,}",
            "features": widths.get((table.role == "main", table.name), ABSENT),
            "common rows": pairs.get(table.name, ABSENT) if table.role == "reference" else ABSENT,
        }
        for table in result.provenance.tables
    )


def files_grid(result: Refinement) -> Grid:
    """The files that were read, with their checksums; no lines if the tables were in none."""
    return Grid.of(
        {"file": file.name, "role": table.role, "bytes": f"{file.size:,}", "SHA-256": file.sha256}
        for table in result.provenance.tables
        for file in table.files
    )


def columns_grid(result: Refinement) -> Grid:
    """What the columns of the main table are, by the names that they came with."""
    main = result.fitted_model.main
    called, names = main.called, () if main.feature_names is None else main.feature_names
    columns = {"id": called.id, "score": called.score}
    if main.classes is not None:
        pairs = zip(called.classes, main.classes.names, strict=True)
        columns = {"id": called.id, "classes": ", ".join(f"{column} ({name})" for column, name in pairs)}
    columns |= {"scale": main.scale, "features": first_of(names, LISTED) or ABSENT}
    columns["left out"] = first_of(called.drop, LISTED) or ABSENT
    return Grid(("main table", "as it came"), tuple(columns.items()))


def outcome_grid(result: Refinement, shift: Shift | ClassShift) -> Grid:
    """The outcome: measures on the labels before and after, and how the rows moved."""
    facts, taken = {}, result.evidence.verdict.takes_what_was_found
    for each in filter(None, (result.accuracy, result.log_loss)):
        for when, value in (("before", each.before), ("after", each.after)):
            said = measured_as(each.measure, value, more=1)
            facts[f"{UNITS[each.measure].what} on the labels, {when}"] = said
    measured = result.evidence.measured
    if measured is not None and measured.by_class is not None:
        before, after = measured.by_class.brier
        facts["Brier score on the labels, before"] = f"{before:.4f}"
        # Where own probabilities are only calibrated, that of what stays is not measured.
        if taken or not measured.calibrated:
            facts["Brier score on the labels, after"] = f"{after if taken else before:.4f}"
    if result.gain is not None:
        what = "gain" if taken else "gain of the refinement that was not taken"
        facts[what] = "too few labels to tell" if result.gain.is_of_few else result.gain.amount(signed=True)
        facts["labelled rows"] = f"{result.gain.rows:,}"
    if result.worth is not None:
        facts[f"worth of all references together, {result.worth.unit.words}"] = result.worth.amount(signed=True)
    facts["rows"] = f"{len(shift.keys):,}"
    by_order = [entry.name for entry in result.relevance if entry.is_straightened]
    by_order[:0] = [] if result.main.straightening is None else [result.main.name]
    if by_order:
        facts["scores that count by their order, because a few are far from the others"] = named(by_order)
    if result.accepted:
        facts |= shift.facts
    if isinstance(shift, Shift) and shift.uncertainty is not None:
        middle, least, most = (figures(float(each(shift.uncertainty)), 3) for each in (np.median, np.min, np.max))
        facts["standard error of a refined score, median"] = f"{middle} (from {least} to {most})"
    model = result.fitted_model
    if taken and model.columns.taught is not None:
        facts["share of what labels taught; the rest is expected without them"] = f"{model.columns.taught.share:.0%}"
    if taken:
        diffused = f"{result.course.share:.0%}"
        facts["share of the diffused scores; the rest is what the diffusion started from"] = diffused
        facts["how far the scores go towards the refinement"] = f"{model.scored.certainty:.0%}"
    return Grid(("result", "value"), tuple(facts.items()))


def relevance_grid(result: Refinement) -> Grid:
    """What is known of every reference, the largest weight first."""

    def record(index: int) -> dict[str, str]:
        entry = result.relevance[index]
        return {
            "name": entry.name,
            "weight": strong_if(entry.standing is Standing.TOOK_PART, _weight(entry.weight)),
            "held_out_alignment": f"{entry.held_out_alignment:+.3f}",
            "chance_alignment": f"{entry.chance_alignment:.3f}",
            "alignment": f"{entry.alignment:+.3f}" if result.accepted else ABSENT,
            "fidelity": "known everywhere" if entry.is_coupled else _known(entry.fidelity, "{:+.3f}"),
            "reached": f"{entry.reached:.1%}",
            "pairs": f"{entry.pairs:,}",
            "worth": ABSENT if entry.worth is None else entry.worth.amount(signed=True),
            "standing": STANDINGS[entry.standing],
        }

    return Grid.of(map(record, by_weight(result)))


def agreement_grid(result: Refinement) -> Grid:
    """What the references that took part say of each other and of the main predictor; no lines if none was asked."""
    asked = result.evidence.agreement
    if not len(asked.pulls):
        return Grid((), ())
    loadings = [_known(loading, "{:+.2f}") for loading in asked.loadings.tolist()]
    return Grid(("predictor", "loading"), tuple(zip(result.evidence.names_of_asked, loadings, strict=True)))


def metric_grid(result: Refinement) -> Grid:
    """The alignment of every predictor with every other."""
    names, values = shown_metric(result, range(len(result.relevance)))
    rows = zip(names, values.tolist(), strict=True)
    return Grid(("alignment", *names), tuple((name, *(f"{value:+.3f}" for value in row)) for name, row in rows))


def moves_grid(shift: Shift, rows: IndexArray) -> Grid:
    """How some rows moved, with their support."""
    before, after = shift.ranks
    return Grid.of(
        {
            "id": str(shift.keys[row]),
            "ranks": StrongText(f"{round(before[row]) - round(after[row]):+,}"),
            "rank before": f"{round(before[row]):,}",
            "rank after": f"{round(after[row]):,}",
            "score before": figures(shift.before[row], 4),
            "score after": figures(shift.after[row], 4),
            **({} if shift.uncertainty is None else {"standard error": figures(shift.uncertainty[row], 3)}),
            "support": f"{shift.support[row]:.2f}",
        }
        for row in rows
    )


def hyperparameters_grid(result: Refinement) -> Grid:
    """Every hyperparameter as it was given and, if it is not the same, as this run used it."""
    used, given = _used(result), parameters_of(result.method).items()
    texts = [(name, _text(value), used.get(name, "")) for name, value in given if name != "diffusion"]
    lines = ((name.replace("__", "."), text, "" if now == text else now) for name, text, now in texts)
    return Grid(("hyperparameter", "given", "used"), tuple(lines))


def tried_grid(result: Refinement) -> Grid:
    """The settings tried for graphs and bridges, the chosen one strong; without lines if there was no choice."""
    return Grid.of(
        {
            name: strong_if(trial.setting == result.course.setting, value)
            for name, value in {
                "neighbours": _text(trial.setting.neighbours),
                "scale of scores": _text(trial.setting.score_scale),
                "bridge": _text(trial.setting.bridge),
                "criterion": f"{trial.criterion:.4f}",
            }.items()
        }
        for trial in result.course.tried
    )


def _known(value: float | None, form: str) -> str:
    return form.format(value) if value is not None and np.isfinite(value) else ABSENT


def _weight(weight: float) -> str:
    # A reference that took part must not look as if it had no weight.
    return "<0.001" if 0 < weight < 0.0005 else f"{weight:.3f}"


def _used(result: Refinement) -> dict[str, str]:
    """The hyperparameters that the run chose, or did not need."""
    diffusion, setting = result.method.diffusion, result.course.setting
    own, *others = result.course.standardised
    flags = [flag for flag in others if flag is not None]
    bridged = not all(entry.is_coupled for entry in result.relevance)
    has_graph = bridged or result.fitted_model.joining is not None
    taken = [step for step in result.history if step.step > 0]
    most = diffusion.rounds if result.evidence.agreement.is_followed else min(ROUNDS_ALONE, diffusion.rounds)
    why = "" if most == diffusion.rounds else ", because no reference is followed"
    rounds = f"{len({step.round for step in taken}):,} of at most {most:,}{why}; {many(len(taken), 'step')}"
    if result.course.ending is not None:
        rounds += f"; {result.course.ending}"
    return {
        "diffusion__neighbours": _text(setting.neighbours if has_graph else None),
        "diffusion__score_scale": _text(setting.score_scale if has_graph else None),
        "diffusion__bridge": _text(setting.bridge if bridged else None),
        "diffusion__step_size": _text(diffusion.step_size if taken else None),
        "diffusion__weight_scale": _text(diffusion.weight_scale if taken else None),
        "diffusion__rounds": rounds,
        "diffusion__standardised": f"{result.main.name}: {_text(own)}; references: {sum(flags):,} of {len(flags):,}",
    }


def _text(value: object) -> str:
    """Return a hyperparameter as text."""
    if isinstance(value, BridgeScheme):
        return f"{type(value).__name__}({', '.join(f'{name} {_text(each)}' for name, each in vars(value).items())})"
    if isinstance(value, tuple):
        return ", ".join(_text(entry) for entry in value)
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value == np.inf:
        return "infinite"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
