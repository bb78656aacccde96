"""Result rows as a run would write them, drawn from a seed: several datasets, some rows skipped, some failed."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from manifuse_study.experiments.store import FORMAT, Row

PUBFIG = (
    *("Masculine-looking", "White", "Young", "Smiling", "Chubby", "Visible-forehead", "Bushy-eyebrows"),
    *("Narrow-eyes", "Pointy-nose", "Big-lips", "Round-face"),
)
OSR = ["natural", "open", "perspective", "large-objects", "diagonal-plane", "close-depth"]
COUPLED = {
    "Ind": 0.0,
    "JMD": 0.02,
    "JMD, only tuned": 0.018,
    "JMD, no references": 0.015,
    "JMD, no labels": 0.012,
    "JMD, as published": 0.02,
    "TPC, iterative": 0.008,
    "TPC, closed form": 0.009,
    "MTL1": 0.01,
    "MTL2": 0.007,
    "mean": -0.03,
    "stacking, RankSVM": 0.012,
    "stacking, ridge": 0.006,
    "own labels": 0.008,
    "retrained": 0.03,
    "retrained, then refined": 0.035,
}
DECOUPLED = {
    "Ind": 0.0,
    "JMD": 0.04,
    "JMD, only tuned": 0.035,
    "JMD, no references": 0.03,
    "JMD, no labels": 0.03,
    "JMD, as published": 0.04,
    "TPC, iterative": None,
    "MTL1": None,
    "impute and average": 0.015,
    "impute and stack": 0.02,
    "self-smoothing": 0.025,
    "label spreading": 0.01,
    "own labels": 0.02,
    "forest and average": 0.012,
    "retrained": 0.05,
    "retrained, then refined": 0.055,
    "coupled oracle": 0.06,
}
GAINS = {"coupled": COUPLED, "decoupled": DECOUPLED}
EXPERIMENTS = {
    "pubfig": ("coupled", PUBFIG),
    "osr": ("coupled", OSR),
    "awa": ("coupled", ["phog", "sift", "surf", "lss", "rgsift"]),
    "pubfig-decoupled": ("decoupled", PUBFIG),
    "cal7": ("decoupled", ["gabor", "wm", "centrist", "hog", "gist", "lbp"]),
    "hw": ("decoupled", ["fou", "fac", "kar", "pix", "zer", "mor"]),
}
SECONDS = {"TPC, iterative": 0.4, "JMD, as published": 0.02, "TPC, closed form": 0.004, "Ind": 1.5}
NEEDS_COUPLED = "Needs all predictors on one set of rows & <this setting> has none."
STEP_SIZES = [float(value) for value in np.logspace(-2, 2, 8)]
WEIGHT_SCALES = [float(value) for value in np.logspace(-2, 1, 7)]


def draw_rows(names=tuple(EXPERIMENTS), *, trials: int = 10, seed: int = 0) -> list[Row]:
    """Draw the rows of some experiments."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in names:
        protocol, tasks = EXPERIMENTS[name]
        levels = rng.uniform(0.72, 0.9, len(tasks))
        for trial in range(trials):
            for task, level in zip(tasks, levels, strict=True):
                start = level + 0.012 * rng.standard_normal()
                for method, gain in GAINS[protocol].items():
                    rows.append(draw_row(rng, name, protocol, task, trial, method, start, gain))
    failed = [number for number, row in enumerate(rows) if row.method in ("MTL2", "label spreading")][3:60:25]
    for number in failed:
        rows[number] = replace(
            rows[number], status="failed", accuracy=None, seconds=None, reason="LinAlgError: did not converge"
        )
    return rows


def draw_row(rng, name, protocol, task, trial, method, start, gain) -> Row:
    """Return one row. It is done, unless a gain is not possible."""
    accuracy = None if gain is None else float(start + gain + 0.006 * rng.standard_normal() * (method != "Ind"))
    seconds = SECONDS.get(method, 0.05) * float(rng.uniform(0.8, 1.25))
    return Row(
        dataset=name,
        protocol=protocol,
        task=task,
        trial=trial,
        method=method,
        status="skipped" if gain is None else "done",
        accuracy=accuracy,
        seconds=None if gain is None else seconds,
        reason=NEEDS_COUPLED if gain is None else "",
        hyperparameters=chosen(rng, method) if gain is not None else {},
        seed=trial,
        provenance={"commit": "0123456789ab", "python": "3.11.7", "numpy": "2.4.6", "machine": "x86_64, 2 cores"},
    )


def chosen(rng, method: str) -> dict:
    """Return hyperparameters as the methods record them."""
    if method == "Ind":
        return {"ranker": str(rng.choice(["linear", "gaussian", "deep"], p=[0.5, 0.4, 0.1]))}
    if method == "JMD":
        return {"surface": None, "rounds": int(rng.integers(1, 9)), "accepted": True}
    if method not in ("JMD, only tuned", "JMD, as published"):
        return {}
    top = rng.uniform(2, 5, 2)
    steps, scales = np.indices((len(STEP_SIZES), len(WEIGHT_SCALES)))
    surface = (
        0.85 - 0.002 * ((steps - top[0]) ** 2 + (scales - top[1]) ** 2) + 0.002 * rng.standard_normal(steps.shape)
    )
    row, column = np.unravel_index(surface.argmax(), surface.shape)
    return {
        "surface": surface.tolist(),
        "step_sizes": STEP_SIZES,
        "weight_scales": WEIGHT_SCALES,
        "step_size": STEP_SIZES[row],
        "weight_scale": WEIGHT_SCALES[column],
        "rounds": int(rng.integers(1, 9)),
        "accepted": True,
    }


def flipped(rows: list[Row]) -> list[Row]:
    """Return the same rows with every gain over *Ind* turned into a loss."""
    alone = {(row.dataset, row.task, row.trial): row.accuracy for row in rows if row.method == "Ind"}
    return [
        row
        if row.accuracy is None
        else replace(row, accuracy=2 * alone[row.dataset, row.task, row.trial] - row.accuracy)
        for row in rows
    ]


def write_folder(folder: Path, rows: list[Row]) -> Path:
    """Write the rows to a results folder."""
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"format": FORMAT, "manifuse": "0.1.0"}))
    (folder / "rows.jsonl").write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows))
    return folder
