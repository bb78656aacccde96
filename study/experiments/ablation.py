"""Change one choice at a time, on the splits on which the defaults were chosen, and write a row for each variant.

Usage: python study/experiments/ablation.py [--data DIR] [--trials 5] [--first 0] [--jobs 2] [SET ...]
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse_study.experiments.published import PUBLISHED_STEPS, STEP_SIZES, WEIGHT_SCALES, run_alone
from manifuse_study.experiments.scripts import cases_of, run_by_set
from manifuse_study.experiments.trial import Case

OUT = Path(__file__).parent / "results" / "ablation.csv"
SETS = ("hw", "digits")
#: Algorithm 1 runs by itself here, because what labels teach would hide what its choices do. Labels choose the cell.
BASE = Algorithm1()
CANDIDATES = {
    "neighbours": (5, 10, 20),
    "score_scale": (0.1, 0.3, 1.0),
    "bridge": (ImplicitEuler(3.0), ImplicitEuler(10.0), ImplicitEuler(30.0)),
}
VARIANTS: dict[str, Algorithm1 | JointDiffusion] = {
    "base": BASE,
    "labels teach, and references are asked": JointDiffusion(),
    "the same, references not asked": JointDiffusion(same_target=True),
    "features always standardised": replace(BASE, standardised=True),
    "features never standardised": replace(BASE, standardised=False),
    "not anchored": replace(BASE, anchored=False),
    "no smoothing": replace(BASE, smoothing=0.0),
    "references at chance not ignored": replace(BASE, ignore_chance=False),
    "not safeguarded": BASE,
    "one round": replace(BASE, rounds=1),
    "score_scale 0.03": replace(BASE, score_scale=0.03),
    "score_scale 0.3": replace(BASE, score_scale=0.3),
    "score_scale infinite (no W^f)": replace(BASE, score_scale=np.inf),
    "delta_B 3": replace(BASE, bridge=ImplicitEuler(3.0)),
    "delta_B 30": replace(BASE, bridge=ImplicitEuler(30.0)),
    "delta_B 10, up to 3 steps": replace(BASE, bridge=ImplicitEuler(10.0, steps=3)),
    "5 neighbours": replace(BASE, neighbours=5),
    "20 neighbours": replace(BASE, neighbours=20),
    "27 settings, held-out rule": replace(BASE, **CANDIDATES),
    "27 settings, paper's rule": replace(BASE, selection="alignment", **CANDIDATES),
}
UNLABELLED = {
    "delta 0.5": replace(BASE, step_size=0.5, weight_scale=0.3),
    "delta 3": replace(BASE, step_size=3.0, weight_scale=0.3),
    "sigma² 1": replace(BASE, step_size=1.0, weight_scale=1.0),
    "settled 1e-3": replace(BASE, settled=1e-3),
    "settled 1e-4": replace(BASE, settled=1e-4),
}


def run(dataset: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every variant, with and without labels: mean accuracy over the tasks of one split."""
    cases = cases_of(dataset, folder, seed)
    ind = np.mean([case.test_accuracy(case.main.scores) for case in cases])
    rows = []
    for labelled in (True, False):
        for name, method in (VARIANTS if labelled else VARIANTS | UNLABELLED).items():
            accuracies, rounds = [], []
            for case in cases:
                predictions, taken = predict(case, method, labelled, safeguarded=name != "not safeguarded")
                accuracies.append(case.test_accuracy(predictions))
                rounds.append(taken)
            rows.append(
                {
                    "dataset": dataset,
                    "seed": seed,
                    "variant": name,
                    "labelled": labelled,
                    "ind": ind,
                    "accuracy": np.mean(accuracies),
                    "rounds": np.mean(rounds),
                }
            )
    return rows


def predict(
    case: Case, method: Algorithm1 | JointDiffusion, labelled: bool, *, safeguarded: bool
) -> tuple[np.ndarray, int]:
    """Predict the main rows by a variant; also return the rounds that it took."""
    labels, seed = case.labels if labelled else None, case.trial.seed
    if isinstance(method, JointDiffusion):
        result = refine(case.main, case.references, labels, method, rng=seed)
        return np.asarray(result.predictions), result.history[-1].round
    if labelled:
        method = replace(method, step_size=STEP_SIZES, weight_scale=WEIGHT_SCALES, steps=PUBLISHED_STEPS)
    found = run_alone(method, case.main, case.references, labels, seed)
    refused = safeguarded and found.gain is not None and not found.gain.is_certain
    taken = found.has_moved and not refused
    return found.predictions if taken else case.main.scores, found.path.history[-1].round


if __name__ == "__main__":
    run_by_set(run, OUT, SETS, trials=5, first=0, description=__doc__)
