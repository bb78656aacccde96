"""Refine simulated problems, most of them made to mislead, and write a row for each.

Usage: python study/experiments/simulated.py [--trials 60] [--first 100] [--jobs 2] [FAMILY ...]

Six references know the same 100 of 600 main rows, and have 200 rows of their own. Every table has features of its own,
which show a part of the same hidden variables. A predictor errs partly at random and partly in a way that these show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse_study.experiments.scripts import run_by_set

OUT = Path(__file__).parent / "results" / "simulated.csv"
MAIN, PAIRS, OWN, REFERENCES = 600, 100, 200, 6
HIDDEN, SEEN, UNITS = 8, 6, 16
LABELS = (0, 50)

#: Of the errors of a predictor, what features show.
SHOWN = 0.6


@dataclass(frozen=True)
class Family:
    """Problems of one kind.

    Attributes
    ----------
    title : str
    main : float
        Correlation of the main predictor with its truth.
    references : tuple of float
        Least and greatest correlation of a reference with what it predicts.
    others : tuple of int
        Least and greatest number of references that predict something else.
    common : bool
        Whether these predict the same other thing.
    error : bool
        Whether all references share the main predictor's error.
    """

    title: str
    main: float = 0.6
    references: tuple[float, float] = (0.5, 0.8)
    others: tuple[int, int] = (0, 0)
    common: bool = False
    error: bool = False


FAMILIES: Mapping[str, Family] = {
    family.title: family
    for family in (
        Family("all predict the same"),
        Family("the main predictor leads", main=0.9, references=(0.4, 0.7)),
        Family("the main predictor is weak", main=0.3),
        Family("one of six predicts something else", others=(1, 1)),
        Family("two of six predict something else", others=(2, 2)),
        Family("none to six predict something else", others=(0, 6)),
        Family("all predict something else", others=(6, 6)),
        Family("all predict the same other thing", others=(6, 6), common=True),
        Family("all share the main predictor's error", references=(0.3, 0.5), error=True),
    )
}


def run(title: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Refine one problem, which is drawn without data, for each number of labels; test rows have no label."""
    del folder
    # Families share no draws: means over all problems have the standard errors of independent ones.
    ours, references, truth = draw(FAMILIES[title], np.random.default_rng([seed, list(FAMILIES).index(title)]))
    rows = []
    for labelled in LABELS:
        labels = mf.RankLabels(ours.keys[-labelled:], truth[-labelled:]) if labelled else None
        result = mf.refine(ours, references, labels, rng=seed)
        test = slice(0, len(ours) - labelled)
        alone, accuracy = (ranking_accuracy(truth[test], scores[test]) for scores in (ours.scores, result.scores))
        rows.append(
            {
                "family": title,
                "seed": seed,
                "labels": labelled,
                "accepted": result.accepted,
                "reason": result.reason.name,
                "alone": alone,
                "accuracy": accuracy,
                "reported": np.nan if result.gain is None else result.gain.value,
            }
        )
    return rows


def draw(family: Family, rng: np.random.Generator) -> tuple[mf.Observations, list[mf.Observations], FloatArray]:
    """Draw the main table, the references and the truth of the main rows."""
    rows = MAIN + REFERENCES * OWN
    hidden = rng.standard_normal((rows, HIDDEN))
    truth = function(hidden, rng)
    error, common = function(hidden, rng), function(hidden, rng)

    def predict(target: FloatArray, correlation: float, error: FloatArray) -> FloatArray:
        noise = SHOWN * error + np.sqrt(1.0 - SHOWN**2) * rng.standard_normal(rows)
        return np.asarray(correlation * target + np.sqrt(1.0 - correlation**2) * noise)

    def table(scores: FloatArray, chosen: IndexArray, name: str) -> mf.Observations:
        features = (hidden @ rng.standard_normal((HIDDEN, SEEN)))[chosen]
        return mf.Observations(scores[chosen], features, ids=[f"r{row}" for row in chosen], name=name)

    ours = table(predict(truth, family.main, error), np.arange(MAIN), "ours")
    different = int(rng.integers(family.others[0], family.others[1] + 1))
    pairs, references = rng.choice(MAIN, PAIRS, replace=False), []
    for number in range(REFERENCES):
        target = truth
        if number < different:
            target = common if family.common else function(hidden, rng)
        own = MAIN + number * OWN + np.arange(OWN)
        chosen = np.concatenate([pairs, own])
        own_error = error if family.error else function(hidden, rng)
        scores = predict(target, float(rng.uniform(*family.references)), own_error)
        references.append(table(scores, chosen, f"reference {number}"))
    return ours, references, truth[:MAIN]


def function(hidden: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw a smooth function of the hidden variables, standardised."""
    values = np.tanh(hidden @ rng.standard_normal((HIDDEN, UNITS)) / 2.0) @ rng.standard_normal(UNITS)
    return standardise(values)


if __name__ == "__main__":
    run_by_set(run, OUT, list(FAMILIES), trials=60, column="family", description=__doc__)
