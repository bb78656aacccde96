"""Small problems of known structure, drawn from a latent space that is in no table."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import manifuse as mf
from manifuse.backends.backend import Backend
from manifuse.evidence.gain import Gain
from manifuse.tables.output import TableWriter


@dataclass(frozen=True)
class Latent:
    """A main table and references, with different features of the same latent points."""

    main: mf.Observations
    references: list[mf.Observations]
    truth: np.ndarray
    labelled: np.ndarray

    def labels(self) -> mf.RankLabels:
        return mf.RankLabels(self.main.keys[self.labelled], self.truth[self.labelled])


def features_of(latent: np.ndarray, rng: np.random.Generator, width: int = 6) -> np.ndarray:
    """Map latent points to features smoothly, with a little noise."""
    mixing = rng.standard_normal((latent.shape[1], width))
    return np.tanh(latent @ mixing) + 0.02 * rng.standard_normal((len(latent), width))


def draw(
    seed: int = 0, *, rows: int = 160, pairs: int = 40, references: int = 2, noise: float = 0.8, features: bool = True
) -> Latent:
    """Draw a decoupled problem; with ``features=False`` every reference is coupled and has none."""
    rng = np.random.default_rng(seed)
    main_latent = rng.uniform(-1, 1, (rows, 2))
    truth = main_latent @ np.array([1.0, 0.7])
    scores = truth + noise * rng.standard_normal(rows)
    names = [f"m{row}" for row in range(rows)]
    main = mf.Observations(scores, features_of(main_latent, rng) if features else None, ids=names, name="main")
    others = []
    for k in range(references):
        other_latent = rng.uniform(-1, 1, (rows, 2))
        ids = [f"r{row}" for row in range(rows)]
        shared = rng.permutation(rows)[: pairs if features else rows]
        other_latent[: len(shared)] = main_latent[shared]
        ids[: len(shared)] = [names[row] for row in shared]
        theirs = other_latent @ np.array([1.0, 0.7]) + 0.3 * rng.standard_normal(rows)
        table = features_of(other_latent, rng) if features else None
        others.append(mf.Observations(theirs, table, ids=ids, name=f"reference {k + 1}"))
    return Latent(main, others, truth, np.arange(rows)[-60:])


def smooth_truth(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw four features, and a truth of deviation 1 that is a line and a wave over them."""
    features = rng.standard_normal((rows, 4))
    truth = features @ rng.standard_normal(4) / 2 + np.sin(2 * features[:, 0])
    return features, truth / truth.std()


def write_table(path, columns, *, escape=False, classes=None):
    """Write columns, the first of which are ids, as a result is written."""
    with TableWriter(path, escape=escape, classes=classes) as writer:
        writer.add(columns)
        writer.finish()


def write_tables(case: Latent) -> None:
    """Write the main table and the first reference to main.csv and theirs.csv in the current folder."""
    # Imported here, because tests of the extras draw problems where Polars is not installed.
    import polars as pl

    for name, table in (("main", case.main), ("theirs", case.references[0])):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        pl.DataFrame({"id": table.keys, "score": table.scores, **features}).write_csv(f"{name}.csv")


def remade(table: mf.Observations, **changes: object) -> mf.Observations:
    """Return the same table with some arguments changed."""
    given = {"predictions": table.scores, "features": table.table, "ids": table.keys, "name": table.name} | changes
    return mf.Observations(given.pop("predictions"), given.pop("features"), **given)


def larger(references: list[mf.Observations], rng: np.random.Generator) -> list[mf.Observations]:
    """Return coupled references with their rows in another order, and 50 rows more."""
    order = rng.permutation(len(references[0]))
    return [
        mf.Observations(
            np.append(table.scores[order], rng.standard_normal(50)),
            ids=[*table.keys[order], *(f"extra {row}" for row in range(50))],
            name=table.name,
        )
        for table in references
    ]


def with_evidence(result: mf.Refinement, *, gain: Gain | None = None, **changes: object) -> mf.Refinement:
    """Return a result with other evidence: another gain on the labels, and other parts by their names."""
    if gain is not None:
        changes["measured"] = replace(result.evidence.measured, gain=gain)
    return replace(result, evidence=replace(result.evidence, **changes))


class Counting(Backend):
    """The host, with the rows and the neighbours of each search that it did."""

    def __init__(self) -> None:
        self.host, self.rows, self.counts = mf.Host(), [], []

    def search(self, features, query, rng):
        self.rows.append(len(features))
        self.counts.append(query.count)
        return self.host.search(features, query, rng)

    def graph(self, *arguments):
        return self.host.graph(*arguments)

    def search_bytes(self, features):
        return 0

    def edge_bytes(self):
        return 0

    def free_memory(self):
        return None
