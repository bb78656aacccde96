"""The pictures of the site, drawn by the library itself.

Those of the page on the method are drawn when the site is built. The picture of the two clinics is kept in
docs/_static, because the README shows it too; ``python docs/extensions/drawings.py`` draws it again.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sphinx.application import Sphinx

import manifuse as mf
from manifuse.files import write_whole
from manifuse_study.experiments.published import TUNED, run_alone

#: Colours that stay apart for colour-blind readers (Okabe and Ito).
GREY, ORANGE, BLUE, GREEN = "#8a8a8a", "#d55e00", "#0072b2", "#009e73"

#: Three orthogonal directions among the predictions of four rows that sum to zero: a sphere that can be drawn.
BASIS = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the drawings to Sphinx, so that they are there before the sources are read."""
    app.connect("builder-inited", lambda app: draw_all(Path(app.srcdir) / "generated" / "drawings"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def draw_all(folder: Path) -> None:
    """Draw every picture that does not exist yet, or is older than this file or the library."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [Path(__file__), *Path(mf.__file__).parent.rglob("*.py")]
    latest = max(source.stat().st_mtime for source in sources)
    drawings: dict[str, Callable[[], Figure]] = {
        "sphere": sphere,
        "bridge": bridge,
        "rounds": rounds,
        "lesson": lesson,
    }
    for name, draw in drawings.items():
        path = folder / f"{name}.svg"
        if not path.is_file() or path.stat().st_mtime < latest:
            figure = draw()
            write_whole(path, lambda temporary, figure=figure: figure.savefig(temporary, format="svg"))


def clinics() -> Figure:
    """Two tables of patients on one axis of ids: each row's measurements and scores, clinic A's before and after."""
    rng = np.random.default_rng(0)
    health = rng.uniform(-1, 1, (400, 2))
    # In every part the healthiest patients come last, so that a better score is a smoother column.
    parts = (slice(0, 150), slice(150, 250), slice(250, 400))
    health = np.vstack([health[part][np.argsort(health[part].sum(axis=1))] for part in parts])
    a, b = health[:250], health[150:]
    noisy, better = a.sum(axis=1) + rng.normal(0, 0.8, 250), b.sum(axis=1) + rng.normal(0, 0.2, 250)
    measured_a, measured_b = np.tanh(a @ rng.normal(size=(2, 5))), np.tanh(b @ rng.normal(size=(2, 8)))
    # Clinic B gives its scores of the common patients, and nothing else.
    reference = mf.Observations(better[:100], ids=range(150, 250), name="clinic B")
    result = mf.refine(mf.Observations(noisy, measured_a, ids=range(250), name="clinic A"), [reference], rng=0)
    refined = np.asarray(result.predictions)
    figure = Figure(figsize=(7.6, 3.7), layout="constrained")
    axes = figure.subplots()
    columns = (
        (0, 5, 0, measured_a, "5 measurements", "cividis"),
        (5.4, 6.6, 0, noisy, "score", "viridis"),
        (8.4, 9.6, 0, refined, "refined\nscore", "viridis"),
        (14.4, 15.6, 150, better, "score", "viridis"),
        (16.2, 24.2, 150, measured_b, "8 measurements", "cividis"),
    )
    for left, right, first, values, title, colours in columns:
        ranks = np.argsort(np.argsort(values, axis=0), axis=0).reshape(len(values), -1)
        axes.imshow(ranks[::5], cmap=colours, extent=(left, right, first + 250, first), aspect="auto", zorder=1)
        axes.text((left + right) / 2, first - 8, title, ha="center", va="bottom", fontsize=9)
    for corner, width, height in (((16.1, 149), 8.3, 252), ((14.3, 251), 1.8, 150)):
        axes.add_patch(Rectangle(corner, width, height, facecolor="white", alpha=0.75, lw=0, zorder=2))
    axes.text(20.2, 325, "stays at clinic B", ha="center", va="center", fontsize=9, color="#333333", zorder=3)
    axes.add_patch(Rectangle((-0.3, 150), 16.2, 100, fill=False, edgecolor=ORANGE, lw=1.8, zorder=3))
    axes.text(12, 218, "100 patients\nat both clinics", ha="center", va="center", fontsize=9, color=ORANGE)
    for start, end in (((14.2, 180), (9.8, 180)), ((6.8, 70), (8.2, 70)), ((12, 172), (9.8, 70))):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": BLUE, "lw": 1.6})
    axes.text(10.2, 45, "carried on to patients with\nsimilar measurements", va="center", fontsize=9, color=BLUE)
    axes.text(0, -62, "clinic A, 250 patients", fontsize=11, weight="bold")
    axes.text(14.4, 88, "clinic B, 250 patients", fontsize=11, weight="bold")
    axes.set(xlim=(-0.5, 24.5), ylim=(402, -85))
    axes.set_axis_off()
    return figure


def sphere() -> Figure:
    """A predictor of four rows, three references, and the predictor's way to them on the sphere."""
    start, near, nearer, away = (
        point / np.linalg.norm(point)
        for point in np.array([[0.15, -0.75, 1], [0.75, 0.45, 1], [0.5, 0.62, 1], [-0.85, 0.4, 0.6]])
    )
    main = mf.Observations(start @ BASIS, ids=range(4), name="f")
    others = [
        mf.Observations(point @ BASIS, ids=range(4), name=name)
        for point, name in ((near, "1"), (nearer, "2"), (away, "3"))
    ]
    way = [start]
    with warnings.catch_warnings():
        # The library warns of so few rows, but more cannot be drawn.
        warnings.simplefilter("ignore", mf.ManifuseWarning)
        for rounds_taken in range(1, 9):
            plain = mf.Algorithm1(
                rounds=rounds_taken,
                step_size=0.6,
                weight_scale=0.4,
                settled=0.0,
                anchored=False,
                smoothing=0.0,
                ignore_chance=False,
            )
            refined = run_alone(plain, main, others).predictions
            way.append(BASIS @ refined / np.linalg.norm(refined))
    figure = Figure(figsize=(4.6, 4.4), layout="constrained")
    axes = figure.subplots()
    angle = np.linspace(0, 2 * np.pi, 200)
    axes.plot(np.cos(angle), np.sin(angle), color=GREY, lw=1)
    for tilt in (-0.5, 0.0, 0.5):
        # Circles of latitude, seen from a little above.
        radius = np.sqrt(1 - tilt**2)
        axes.plot(
            radius * np.cos(angle), tilt * 0.9 + 0.25 * radius * np.sin(angle), color="#dddddd", lw=0.7, zorder=0
        )
    path = np.array(way)
    axes.plot(path[:, 0], path[:, 1], "-", color=BLUE, lw=1.5)
    axes.plot(path[1:, 0], path[1:, 1], "o", color=BLUE, ms=4)
    for point, name, colour, look in (
        (start, "f", BLUE, "o"),
        (near, "g¹", ORANGE, "D"),
        (nearer, "g²", ORANGE, "D"),
        (away, "g³", GREY, "D"),
    ):
        axes.plot(point[0], point[1], look, color=colour, ms=9)
        axes.annotate(name, point[:2], (9, -4), textcoords="offset points", fontsize=14, color=colour)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def bridge() -> Figure:
    """Two tables with thirty pairs: both scores, the refined scores, and the support. The rows are random."""
    rng = np.random.default_rng(3)
    pairs, own = 30, 270
    ours, theirs = (np.vstack([shared, rng.uniform(0, 1, (own, 2))]) for shared in [rng.uniform(0, 1, (pairs, 2))] * 2)
    truth = [np.sin(3 * points[:, 0]) + points[:, 1] for points in (ours, theirs)]
    main = mf.Observations(
        truth[0] + 0.5 * rng.standard_normal(pairs + own), ours, ids=range(pairs + own), name="ours"
    )
    reference = mf.Observations(
        truth[1] + 0.1 * rng.standard_normal(pairs + own),
        np.column_stack([np.exp(theirs[:, 0]), theirs[:, 1] ** 2, theirs.sum(axis=1)]),
        ids=[*range(pairs), *range(1000, 1000 + own)],
        name="theirs",
    )
    result = mf.refine(main, [reference], method=mf.JointDiffusion(same_target=True), rng=0)
    panels = (
        ("our rows, our scores", ours, main.scores, "viridis"),
        ("their rows, their scores", theirs, reference.scores, "viridis"),
        ("our rows, refined scores", ours, np.asarray(result.predictions), "viridis"),
        ("our rows, support", ours, result.support, "cividis"),
    )
    figure = Figure(figsize=(7.2, 6.6), layout="constrained")
    for axes, (title, points, values, colours) in zip(figure.subplots(2, 2).ravel(), panels, strict=True):
        order = values if colours == "cividis" else np.argsort(np.argsort(values))
        axes.scatter(*points.T, c=order, cmap=colours, s=16)
        axes.scatter(*points[:pairs].T, s=52, facecolors="none", edgecolors=ORANGE, linewidths=1.3)
        axes.set_title(title, loc="left", fontsize=11)
        axes.set(xticks=[], yticks=[])
    return figure


def rounds() -> Figure:
    """Digits with labels: the accuracy over the grid in the first round, then accuracy and alignments step by step."""
    digits = mf.datasets.load_digits("fourier", labels=200)
    references = [each for each in digits.references if each.name in ("profile", "zernike", "gradient")]
    found = run_alone(TUNED, digits.main, references, digits.labels)
    path, cells = found.path, found.surface
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    surface, course = figure.subplots(1, 2)
    (step_sizes, weight_scales), first = TUNED.grid, path.history[0]
    image = surface.imshow(cells, cmap="cividis", origin="lower", aspect="auto")
    cell = weight_scales.index(first.weight_scale), step_sizes.index(first.step_size)
    surface.plot(*cell, "x", color=ORANGE, ms=9, mew=2.5)
    surface.set_xticks(range(len(weight_scales)), [f"{value:.3g}" for value in weight_scales], fontsize=8)
    surface.set_yticks(range(len(step_sizes)), [f"{value:.3g}" for value in step_sizes], fontsize=8)
    surface.set(xlabel="weight scale σ²", ylabel="step size δ")
    surface.set_title("accuracy on the labels, first round", loc="left", fontsize=11)
    figure.colorbar(image, ax=surface)
    steps = np.arange(len(path.history))
    for index, reference in enumerate(references):
        values = [step.alignments[index] for step in path.history]
        course.plot(steps, values, "-", color=(ORANGE, GREEN, GREY)[index], label=f"alignment with {reference.name}")
    course.plot(steps, [step.score for step in path.history], "o-", color=BLUE, ms=3, label="accuracy on the labels")
    course.set(xlabel="step", ylim=(0.6, 1.0))
    course.set_title("over all rounds", loc="left", fontsize=11)
    course.legend(frameon=False, fontsize=9, loc="lower right")
    return figure


def lesson() -> Figure:
    """Rows with one feature whose scores are wrong in one region: what labels teach there, and how a run goes on."""
    rng = np.random.default_rng(5)
    feature = np.sort(rng.uniform(0, 1, 300))
    truth = np.sin(5 * feature)
    own = truth + 0.25 * rng.standard_normal(300) - 1.2 * np.exp(-(((feature - 0.3) / 0.1) ** 2))
    main = mf.Observations(own, feature[:, None], ids=range(300), name="own")
    labelled = np.sort(rng.choice(300, 40, replace=False))
    labels = mf.RankLabels(main.keys[labelled], truth[labelled] + 0.1 * rng.standard_normal(len(labelled)))
    result = mf.refine(main, [], labels, mf.JointDiffusion(task="regression"), rng=0)
    figure = Figure(figsize=(8.8, 3.7), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    left.plot(feature, own, ".", color=GREY, ms=4, alpha=0.6, label="own scores")
    left.plot(feature, truth, color="black", lw=1, ls="--", label="truth")
    left.plot(feature[labelled], labels.grades, "o", mfc="none", mec=ORANGE, ms=6, label="labels")
    ends = [result.scores + sign * 1.645 * result.uncertainty for sign in (-1, 1)]
    left.fill_between(feature, *ends, color=BLUE, alpha=0.18, lw=0)
    left.plot(feature, result.scores, ".", color=BLUE, ms=4, label="refined, with 90 % intervals")
    left.set(xlabel="a feature", ylabel="score", xlim=(0, 1))
    left.legend(frameon=False, fontsize=8, loc="lower left")
    boxes = {
        "own scores": (0.22, 0.95),
        "references' scores,\nimputed": (0.82, 0.95),
        "expected": (0.5, 0.72),
        "labels": (0.02, 0.48),
        "lesson: what is\nnot as expected": (0.5, 0.48),
        "diffusion, started\nwith held-out values": (0.84, 0.24),
        "refined": (0.4, 0.02),
    }
    look = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": BLUE}
    own_scores, imputed, expected, given, learned, diffusion, refined = (
        right.text(*place, name, ha="center", va="center", fontsize=8.5, bbox=look) for name, place in boxes.items()
    )
    arrows = (
        (own_scores, expected),
        (imputed, expected),
        (expected, learned),
        (given, learned),
        (learned, diffusion),
        (learned, refined),
        (diffusion, refined),
    )
    for start, end in arrows:
        ends = {"patchA": start.get_bbox_patch(), "patchB": end.get_bbox_patch()}
        shape = {"arrowstyle": "->", "color": GREY, "lw": 1.3, **ends}
        right.annotate("", end.get_position(), start.get_position(), arrowprops=shape)
    right.set(xlim=(-0.1, 1.1), ylim=(-0.05, 1.03))
    right.set_axis_off()
    return figure


if __name__ == "__main__":
    # Letters stay letters, and the same picture is the same file.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "clinics"}):
        clinics().savefig(Path(__file__).parents[1] / "_static" / "clinics.svg", metadata={"Date": None})
