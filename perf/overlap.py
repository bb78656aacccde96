"""How many rows the blocks of a graph need of each other: writes perf/overlap.csv.

Usage: python perf/overlap.py

Graphs of the problem of `growth.py`, points of a cube by their ten nearest neighbours, in the order that large tables
have, cut as `Cluster` cuts them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from growth import problem
from machine import describe

from manifuse.diffusion.graph import HostGraph
from manifuse.experiments.provenance import provenance, write_rows

HERE = Path(__file__).parent

#: Rows and numbers of blocks. Blocks of points of a cube are alike where their number grows with the rows' cube root.
CUTS = {100_000: (10, 22, 47, 100), 1_000_000: (2, 10, 22, 47, 100)}


def main() -> None:
    """Cut every graph into every number of blocks."""
    rows = []
    for size, cuts in CUTS.items():
        table, _ = problem(size, 0, 0)
        graph = HostGraph.of(table.neighbours, 10)
        for blocks in cuts:
            rows.append({**overlap(graph.weights, blocks), "machine": describe(), **provenance()})
            print(rows[-1])
    write_rows(HERE / "overlap.csv", rows)


def overlap(weights, blocks: int) -> dict[str, object]:
    """Rows of other blocks that the neediest block needs, for each of its own, and the most blocks that one asks."""
    rows = weights.shape[0]
    bounds = np.linspace(0, rows, blocks + 1).astype(int)
    shares, asked = [], []
    for first, last in pairwise(bounds):
        columns = np.unique(weights.indices[weights.indptr[first] : weights.indptr[last]])
        outside = columns[(columns < first) | (columns >= last)]
        shares.append(len(outside) / (last - first))
        asked.append(len(np.unique(np.searchsorted(bounds, outside, side="right"))))
    return {
        "rows": rows,
        "blocks": blocks,
        "edges": round(weights.nnz / rows, 2),
        "overlap": round(float(max(shares)), 4),
        "asked": max(asked),
    }


if __name__ == "__main__":
    main()
