"""Time the fast paths against the plain ones, in one process, as ratios.

Usage: python perf/ratios.py [--quick]

Prints a table and writes perf/results.csv. Each ratio is the median of the repetitions; a ratio with its
target is missed if the table says so.
"""

from __future__ import annotations

import argparse
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import solve_sylvester
from sklearn.svm import LinearSVC

from manifuse.diffusion.bridge import ImplicitEuler
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import STEP_SIZES, WEIGHT_SCALES, JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.prediction import diffuse_prediction
from manifuse.diffusion.refine import refine
from manifuse.diffusion.score import GradedRanking
from manifuse.experiments.provenance import provenance, write_rows
from manifuse.kernels.laplacian import edge_pattern, normalised_affinity
from manifuse.kernels.sphere import unit
from manifuse.ranking.ranksvm import RankSVM

HERE = Path(__file__).parent


def main() -> None:
    """Run every comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition, and no run at 300,000 rows")
    parser.add_argument("--large", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.large:
        large_bridge()
        return
    repetitions = 1 if options.quick else 3
    rows = [coupled_run(repetitions), implicit_bridge(repetitions), rank_svm(repetitions)]
    rows.append(whole_coupled_run(repetitions))
    if not options.quick:
        rows.append(large_run())
    machine = {"machine": f"{platform.processor() or platform.machine()}, {cores()} cores"}
    write_rows(HERE / "results.csv", [{**row, **machine, **provenance()} for row in rows])
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))


def coupled_run(repetitions: int) -> dict[str, object]:
    """One tuned coupled run, in coefficient space against one thin singular value decomposition per step."""
    rng = np.random.default_rng(0)
    n, m, labelled = 30_475, 4, 200
    truth = rng.standard_normal(n)
    columns = unit(truth[:, None] + rng.uniform(0.5, 1.5, m + 1) * rng.standard_normal((n, m + 1)))
    grades = np.searchsorted(np.quantile(truth, np.linspace(0.1, 0.9, 9)), truth).astype(float)
    score = GradedRanking(np.arange(labelled), grades[:labelled])
    grid = (STEP_SIZES, WEIGHT_SCALES)

    def ours() -> np.ndarray:
        inside = columns[score.rows]
        run = diffuse_prediction(
            columns,
            columns[:, 0],
            gates=np.ones(m),
            grid=grid,
            steps=20,
            evaluate=lambda coefficients: score.evaluate(inside @ coefficients.T),
        )
        return columns @ run.path[-1]

    def plain() -> np.ndarray:
        best, top = columns[:, 0], -np.inf
        for step in grid[0]:
            for scale in grid[1]:
                f, height = columns[:, 0], score.evaluate(columns[score.rows, :1])[0]
                for _ in range(20):
                    weights = np.exp(-(1 - (columns[:, 1:].T @ f) ** 2) / scale)
                    S = np.column_stack([f, np.sqrt(step * weights) * columns[:, 1:]])
                    following = np.linalg.svd(S, full_matrices=False)[0][:, 0]
                    following = following * np.sign(following @ columns[:, 0])
                    reached = score.evaluate(following[score.rows, None])[0]
                    if reached <= height:
                        break
                    f, height = following, reached
                if height > top:
                    best, top = f, height
        return best

    difference = float(np.abs(ours() - plain()).max())
    return row("coupled tuned run, 30,475 rows, m = 4", "one SVD per step", ours, plain, repetitions, 50, difference)


def whole_coupled_run(repetitions: int) -> dict[str, object]:
    """Everything that `refine` does with 30,475 coupled rows, as published: checking, pairing, all rounds."""
    rng = np.random.default_rng(0)
    n, m, labelled = 30_475, 4, 200
    truth = rng.standard_normal(n)
    scores = truth[:, None] + rng.uniform(0.5, 1.5, m + 1) * rng.standard_normal((n, m + 1))
    main, *references = (Observations(column, ids=range(n), name=f"{k}") for k, column in enumerate(scores.T))
    grades = np.searchsorted(np.quantile(truth, np.linspace(0.1, 0.9, 9)), truth)[:labelled]
    labels = RankLabels(range(labelled), grades)

    def ours() -> object:
        return refine(main, references, labels, JointDiffusion.as_published(), rng=0)

    ours()
    seconds = float(np.median([timed(ours) for _ in range(repetitions)]))
    return {
        "work": "refine as published, 30,475 coupled rows, m = 4",
        "against": "0.2 s of the paper",
        "ours_seconds": round(seconds, 3),
        "plain_seconds": "",
        "ratio": "",
        "target": "at most 0.2 s",
        "reached": seconds <= 0.2,
        "difference": "",
    }


def implicit_bridge(repetitions: int) -> dict[str, object]:
    """One implicit bridge of 2,000 rows a side against SciPy's dense Sylvester solver."""
    n, pairs, step = 2_000, 200, 10.0
    rng = np.random.default_rng(0)
    main, reference = ring(n, rng), ring(n, rng)
    rows, others = rng.permutation(n)[:pairs], rng.permutation(n)[:pairs]
    block = np.column_stack([rng.standard_normal(n), np.ones(n)])
    scheme = ImplicitEuler(step)
    labels = np.zeros((n, n))
    labels[rows, others] = 1.0

    def ours() -> np.ndarray:
        return scheme.carry(main, [scheme.anchor(reference, block, rows, others)], block[:, 0])[0]

    def plain() -> np.ndarray:
        left = np.eye(n) + step * (np.eye(n) - main.toarray())
        return solve_sylvester(left, step * (np.eye(n) - reference.toarray()), labels) @ block

    exact = plain()
    error = float(np.linalg.norm(ours() - exact) / np.linalg.norm(exact))
    return row(
        "implicit bridge, 2,000 rows a side", "SciPy solve_sylvester", ours, plain, min(repetitions, 2), 100, error
    )


def rank_svm(repetitions: int) -> dict[str, object]:
    """One linear RankSVM on 1,000 rows of 10 grades against liblinear on the 450,000 differences, made beforehand."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((1000, 20))
    grades = np.argsort(np.argsort(table @ rng.standard_normal(20) + rng.standard_normal(1000))) // 100
    better, worse = np.nonzero(grades[:, None] > grades[None, :])
    signs = np.where(np.arange(len(better)) % 2, 1.0, -1.0)
    differences = (table[better] - table[worse]) * signs[:, None]
    penalty = 1.0

    def energy(w: np.ndarray) -> float:
        scores = table @ w
        return float(np.sum(np.maximum(1 - (scores[better] - scores[worse]), 0) ** 2) + penalty * w @ w)

    def ours() -> np.ndarray:
        return RankSVM("linear", penalty=penalty).fit(table, grades).coefficients_ @ table

    def plain() -> np.ndarray:
        # The loosest tolerance of liblinear's that reaches the same energy to 1e-6.
        solver = LinearSVC(loss="squared_hinge", C=0.5 / penalty, fit_intercept=False, dual=False, tol=1e-4)
        return solver.fit(differences, signs).coef_[0]

    best = energy(ours())
    difference = abs(energy(plain()) / best - 1)
    work = "linear RankSVM, 1,000 rows, 10 grades, 450,000 pairs"
    return row(work, "liblinear on explicit pairs", ours, plain, repetitions, 20, difference)


def large_run() -> dict[str, object]:
    """One implicit bridge of 300,000 rows a side in a process of its own, for its peak memory."""
    done = subprocess.run([sys.executable, __file__, "--large"], capture_output=True, text=True, check=True)
    seconds, peak = (float(word) for word in done.stdout.split())
    return {
        "work": "implicit bridge, 300,000 rows a side, graphs given",
        "against": "4 GiB",
        "ours_seconds": round(seconds, 2),
        "plain_seconds": "",
        "ratio": f"{peak:.2f} GiB peak",
        "target": "at most 4 GiB",
        "reached": peak <= 4,
        "difference": "",
    }


def large_bridge() -> None:
    """Print seconds and peak memory of the large bridge."""
    rng = np.random.default_rng(0)
    n, pairs = 300_000, 200
    main, reference = ring(n, rng), ring(n, rng)
    rows, others = rng.permutation(n)[:pairs], rng.permutation(n)[:pairs]
    block = np.column_stack([rng.standard_normal(n), np.ones(n)])
    scheme = ImplicitEuler(10.0)
    start = time.perf_counter()
    carried = scheme.carry(main, [scheme.anchor(reference, block, rows, others)], block[:, 0])[0]
    seconds = time.perf_counter() - start
    assert np.isfinite(carried).all()
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def ring(n: int, rng: np.random.Generator) -> sparse.csr_array:
    """Affinity of a graph of ten neighbours a row, as on a curve: near rows, in no order of storage."""
    order = rng.permutation(n)
    places = (np.arange(n)[:, None] + np.arange(1, 6)) % n
    neighbours = np.empty((n, 5), dtype=np.intp)
    neighbours[order] = order[places]
    pattern = edge_pattern(neighbours)
    return normalised_affinity(pattern, np.ones(pattern.nnz))


def row(
    work: str,
    against: str,
    ours: Callable[[], np.ndarray],
    plain: Callable[[], np.ndarray],
    repetitions: int,
    target: float,
    difference: float,
) -> dict[str, object]:
    """Time both and state the ratio."""
    fast, slow = (np.median([timed(call) for _ in range(repetitions)]) for call in (ours, plain))
    return {
        "work": work,
        "against": against,
        "ours_seconds": round(float(fast), 4),
        "plain_seconds": round(float(slow), 3),
        "ratio": f"{slow / fast:.0f}x",
        "target": f"at least {target:.0f}x",
        "reached": bool(slow / fast >= target),
        "difference": f"{difference:.1e}",
    }


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def cores() -> int:
    """Cores that this process may use."""
    import os

    return len(os.sched_getaffinity(0))


if __name__ == "__main__":
    main()
