"""Time refine and apply on large Parquet files, each in a process of its own, and write study/perf/large.csv.

Usage: python study/perf/large.py [--rows 1000000] [--more 10000000] [--folder DIR]

The tables are simulated: 32 features, three references, 200 pairs. ``refine`` fits a sample and applies it to the
rest. ``apply`` refines as many rows, then more of them, here and on one and two Dask workers of one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from distributed import LocalCluster
from machine import describe
from scipy.stats import spearmanr

from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.rows import rows_csv

HERE = Path(__file__).parent
TAKEN = ("--same-target", "--out", "out.parquet", "--save", "m.npz")
PAIRS, LATENT, FEATURES, REFERENCES = 200, 6, 32, 3


def main() -> None:
    """Write the tables, and time every command on them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--more", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.folder) as name:
        folder, rows = Path(name), []

        def measure(work: str, count: int, *arguments: str) -> None:
            rows.append({"work": work, "rows": count, **timed(folder, *arguments)})
            rows[-1] |= {"rows_per_second": round(count / rows[-1]["seconds"]), "machine": describe(), **provenance()}
            print(rows[-1])
            (HERE / "large.csv").write_bytes(rows_csv(rows))

        truth = write_problem(folder, options.rows)
        references = [part for k in range(REFERENCES) for part in ("--reference", f"r{k}.parquet")]
        measure("refine", options.rows, "refine", "main.parquet", *references, *TAKEN)
        out = pl.read_parquet(folder / "out.parquet")
        rows[-1]["before"] = round(float(spearmanr(truth, out["original"]).statistic), 4)
        rows[-1]["after"] = round(float(spearmanr(truth, out["score"]).statistic), 4)
        write_later(folder, options.rows, options.more)
        measure("apply", options.rows, "apply", "m.npz", "later/0.parquet", "--out", "one.parquet")
        measure("apply", options.more, "apply", "m.npz", "later", "--out", "all.parquet")
        for workers in (1, 2):
            with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster:
                engine = cluster.scheduler_address.replace("tcp://", "dask://")
                work, out_folder = f"apply on {workers} Dask worker{'s' if workers > 1 else ''}", f"parts-{workers}"
                measure(work, options.more, "apply", "m.npz", "later", "--out", out_folder, "--engine", engine)
        same = pl.read_parquet(folder / "all.parquet").equals(pl.read_parquet(folder / "parts-2" / "*.parquet"))
        print("here and on the engine, the scores are the same bits:", same)


def timed(folder: Path, *arguments: str) -> dict[str, float]:
    """Run a command of manifuse; return its seconds and the most memory of its process, in GiB."""
    # VmHWM, because the largest memory that getrusage reports is also that of the parent.
    lines = [
        "import sys",
        "from manifuse.cli.app import main",
        "try:",
        "    main()",
        "except SystemExit as end:",
        "    assert not end.code",
        "print(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))",
    ]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines), *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return {"seconds": round(time.perf_counter() - begin, 2), "GiB": round(int(done.stdout.split()[-1]) / 2**20, 3)}


def write_problem(folder: Path, rows: int) -> np.ndarray:
    """Write a main table and references; return the truth of the main rows."""
    rng = np.random.default_rng(0)
    mixing, direction = rng.standard_normal((LATENT, 8)), rng.standard_normal(8)
    here = rng.standard_normal((rows, LATENT))
    shared = rng.permutation(rows)[:PAIRS]
    truth = np.tanh(here @ mixing / 2) @ direction

    def write(name: str, latent: np.ndarray, noise: float, ids: np.ndarray) -> None:
        scores = np.tanh(latent @ mixing / 2) @ direction
        scores += noise * scores.std() * rng.standard_normal(rows)
        table_of(ids, scores, features_of(latent, rng)).write_parquet(folder / f"{name}.parquet")

    write("main", here, 1.5, np.arange(rows))
    for number in range(REFERENCES):
        there, ids = rng.standard_normal((rows, LATENT)), np.arange(rows) + 10**8 * (number + 1)
        there[:PAIRS], ids[:PAIRS] = here[shared], shared
        write(f"r{number}", there, 0.4, ids)
    return truth


def write_later(folder: Path, rows: int, more: int) -> None:
    """Write later rows, which are the main rows under other ids, into a folder of files."""
    (folder / "later").mkdir()
    main = pl.read_parquet(folder / "main.parquet")
    for number in range(more // rows):
        part = main.with_columns(id=pl.int_range(pl.len()) + 10**10 + number * rows)
        part.with_columns(id=pl.col("id").cast(pl.String)).write_parquet(folder / "later" / f"{number}.parquet")


def features_of(latent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Map latent points to features smoothly, with noise."""
    mixing = rng.standard_normal((LATENT, FEATURES))
    return (np.tanh(latent @ mixing / 2) + 0.2 * rng.standard_normal((len(latent), FEATURES))).astype(np.float32)


def table_of(ids: np.ndarray, scores: np.ndarray, features: np.ndarray) -> pl.DataFrame:
    """Return a table as manifuse reads it."""
    columns = {f"x{column}": values for column, values in enumerate(features.T)}
    return pl.DataFrame({"id": ids.astype(str), "score": scores, **columns})


if __name__ == "__main__":
    main()
