"""Measure time and memory against the rows, the references and the step size, and write study/perf/growth.csv.

Usage: python study/perf/growth.py [--largest 1000000]

Every point runs Algorithm 1 by itself, in its own process, so that its peak memory can be measured. The times are
without the neighbour search.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from machine import describe
from scipy.spatial import cKDTree

import manifuse as mf
from manifuse.backends.backend import Backend
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.footprint import predicted_bytes
from manifuse.diffusion.setup import Setup
from manifuse.tables.problem import Problem
from manifuse_study.experiments.published import run_alone
from manifuse_study.experiments.rows import write_rows

PAIRS = 200


def main() -> None:
    """Run every point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(run(**json.loads(options.point))))
        return
    sizes = [n for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= options.largest]
    middle = min(100_000, options.largest)
    points = [{"vary": "rows", "rows": n} for n in sizes]
    points += [{"vary": "references", "rows": middle, "references": m} for m in (1, 2, 4, 8, 16)]
    points += [{"vary": "step", "rows": middle, "step": step} for step in (1.0, 3.0, 10.0, 30.0, 100.0)]
    write_rows(Path(__file__).parent / "growth.csv", ([in_process(point)] for point in points))


def in_process(point: dict[str, object]) -> dict[str, object]:
    """Measure one point in its own process."""
    command = [sys.executable, __file__, "--point", json.dumps(point)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "machine": describe()}


def run(vary: str, rows: int, references: int = 3, step: float = 10.0) -> dict[str, object]:
    """Diffuse one problem without labels, and return its time and memory."""
    warm_up()
    main, others = problem(rows, references)
    backend = PointHost(mf.Host())
    algorithm = mf.Algorithm1(bridge=mf.ImplicitEuler(step), standardised=False)
    predicted = predicted_bytes(Setup(Problem.of(main, others), algorithm, 0, backend))
    with peak() as held:
        begin = time.perf_counter()
        found = run_alone(algorithm, main, others, backend=backend)
        seconds = time.perf_counter() - begin - backend.seconds
    return {
        "vary": vary,
        "rows": rows,
        "references": references,
        "step": step,
        "seconds": round(seconds, 4),
        "rounds": found.path.history[-1].round,
        "edges": round(backend.edges / rows, 2),
        "GiB": round(held[0] / 2**30, 3),
        "vectors": round(held[0] / (8 * rows), 1),
        "predicted_GiB": round(predicted / 2**30, 3),
        "GiB_of_process": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 3),
    }


def warm_up() -> None:
    """Load what a run uses; the time for this does not grow with the rows."""
    run_alone(mf.Algorithm1(), *problem(1_000, 1), backend=mf.Host())


def problem(rows: int, references: int, features: int = 3) -> tuple[mf.Observations, list[mf.Observations]]:
    """Draw points of a cube, which are the features of the tables; three of them tell the scores."""
    rng = np.random.default_rng(0)
    here = rng.uniform(-1, 1, (rows, features))
    direction = np.append([1.0, 0.7, -0.5], np.zeros(features - 3))
    names = np.char.add("m", np.arange(rows).astype(str))

    def table(points: np.ndarray, noise: float, ids: np.ndarray, name: str) -> mf.Observations:
        scores = points @ direction + noise * rng.standard_normal(rows)
        return mf.Observations(scores, points, ids=ids, name=name)

    others = []
    for number in range(references):
        there = rng.uniform(-1, 1, (rows, features))
        shared = rng.permutation(rows)[:PAIRS]
        there[:PAIRS] = here[shared]
        ids = np.char.add(f"r{number}-", np.arange(rows).astype(str)).astype(object)
        ids[:PAIRS] = names[shared]
        others.append(table(there, 0.3, ids.astype(str), f"reference {number + 1}"))
    return table(here, 0.8, names, "main"), others


def nearest(points: np.ndarray, count: int, *, standardised: bool = False) -> Neighbours:
    """Find neighbours in few dimensions, where a tree is fastest."""
    distances, indices = cKDTree(points).query(points, count + 1, workers=-1)
    return Neighbours(indices[:, 1:], distances[:, 1:] ** 2, 1.0, standardised)


class PointHost(Backend):
    """The host, with a search for points of few dimensions, its seconds, and the edges of the last graph."""

    def __init__(self, host: mf.Host) -> None:
        self.host, self.seconds, self.edges = host, 0.0, 0

    def search(self, features, query, rng):
        """Search in a tree, and add the seconds."""
        begin = time.perf_counter()
        found = nearest(features, query.count, standardised=query.standardised)
        self.seconds += time.perf_counter() - begin
        return found

    def graph(self, *arguments):
        """Build the graph on the host, and count its edges."""
        graph = self.host.graph(*arguments)
        self.edges = graph.on_host().weights.nnz
        return graph

    def search_bytes(self, features):
        """Return the bytes that the host needs."""
        return self.host.search_bytes(features)

    def edge_bytes(self):
        """Return the bytes that the host needs."""
        return self.host.edge_bytes()

    def free_memory(self):
        """Return the free memory of the host."""
        return self.host.free_memory()


@contextmanager
def peak() -> Iterator[list[float]]:
    """Measure the peak memory while something runs, less the memory in use before, in bytes."""
    size = resource.getpagesize()

    def used() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * size

    # Memory that Python freed but the process still has would hide new use of memory.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before, most, done = used(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.005):
            most[0] = max(most[0], used() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


if __name__ == "__main__":
    main()
