"""Odd tables, drawn by the thousand: whatever comes, the command line answers in one way out of two.

Each case is drawn from its number. It ends with exit status 0 or 2, without a traceback, and with no unfinished file.
After 0, every row has a finite score, and the same tables with rows and columns in another order give the same scores.
``make attack`` draws 5,000 cases; the tests draw a few.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from manifuse.cli import app
from tests.problems import draw

CASES = int(os.environ.get("ATTACK_CASES", "20"))
#: A file that gets the exit status of each case.
LOG = os.environ.get("ATTACK_LOG")

#: Cases that large draws found: two with standard errors out of range, and one whose search for variances ended early.
ONCE_WRONG = (2080, 4680, 3087)

#: Cases of one test, so that a few thousand tests need not be named.
AT_ONCE = 20

WRITERS = {
    "csv": lambda frame, path: frame.write_csv(path),
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "parquet": lambda frame, path: frame.write_parquet(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
}
READERS = {
    "csv": pl.read_csv,
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "parquet": pl.read_parquet,
    "arrow": pl.read_ipc,
    "jsonl": pl.read_ndjson,
}
ODD = [float("nan"), float("inf"), -float("inf"), None, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e155, 1e16, 2.0**53]
NAMES = ["score ", "^x.*$", "ID", "label", "x[0]", "ümlaut", "a,b", 'a"b', "*", "fold", "uncertainty"]


def of_numbers(frame):
    return [name for name, kind in frame.schema.items() if kind.is_numeric()]


def odd_cell(frame, rng):
    name, row, value = rng.choice(of_numbers(frame)), rng.integers(len(frame)), ODD[rng.integers(len(ODD))]
    return frame.with_columns(pl.when(pl.int_range(pl.len()) == row).then(value).otherwise(name).alias(name))


def odd_scale(frame, rng):
    name = rng.choice(of_numbers(frame))
    return frame.with_columns(pl.col(name) * 10.0 ** rng.integers(-310, 309) + rng.choice([0.0, 1.0, 1e15]))


def odd_column(frame, rng):
    rows = len(frame)
    columns = [
        np.ones(rows),
        rng.integers(0, 2, rows).astype(bool),
        rng.integers(-(2**62), 2**62, rows),
        np.array([f"t{k % 3}" for k in range(rows)]),
        np.array(["2024-02-01"] * rows),
        np.array([f" {k}.5" for k in range(rows)]),
        rng.standard_normal(rows).astype(np.float32),
        np.array([None] * rows, dtype=object),
    ]
    return frame.with_columns(pl.Series(str(rng.choice(NAMES)), columns[rng.integers(len(columns))], strict=False))


def odd_ids(frame, rng):
    changes = [
        pl.int_range(pl.len()),
        pl.int_range(pl.len()).cast(pl.Float64) + 0.5,
        pl.col("id").str.to_uppercase(),
        pl.lit(" ") + pl.col("id"),
        pl.col("id") + pl.lit("\u0301"),
        pl.col("id").first(),
        pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("id"),
    ]
    return frame.with_columns(changes[rng.integers(len(changes))].alias("id"))


CHANGES = [
    odd_cell,
    odd_cell,
    odd_scale,
    odd_column,
    lambda frame, rng: odd_ids(frame, rng) if frame.schema.get("id") == pl.String else frame,
    lambda frame, rng: frame.drop(str(rng.choice(frame.columns))),
    lambda frame, rng: frame.rename({str(rng.choice(frame.columns)): str(rng.choice(NAMES))}),
    lambda frame, rng: frame[: int(rng.integers(0, 12))],
    lambda frame, rng: pl.concat([frame, frame[: int(rng.integers(1, 4))]]),
    lambda frame, rng: frame.with_columns(pl.col(str(rng.choice(of_numbers(frame)))).first()),
    lambda frame, rng: frame.with_columns(pl.col(of_numbers(frame)).cast(pl.Float32)),
    lambda frame, rng: frame.with_columns(pl.col(of_numbers(frame)).round(0)),
]


def damaged(content, rng):
    content = bytearray(content)
    place = int(rng.integers(len(content))) if content else 0
    kind = rng.integers(4)
    if kind == 0 and content:
        content[place] ^= int(1 << rng.integers(8))
    elif kind == 1:
        del content[place:]
    elif kind == 2:
        content[place:place] = rng.bytes(int(rng.integers(1, 9)))
    else:
        content += rng.bytes(int(rng.integers(1, 40)))
    return bytes(content)


def tables_of(seed):
    rng = np.random.default_rng([seed, 1])
    case = draw(seed % 7, rows=60, pairs=30, references=int(rng.integers(1, 3)))
    tables = {"main": case.main} | {f"r{k}": reference for k, reference in enumerate(case.references)}
    frames = {
        name: pl.DataFrame({"id": each.keys, "score": each.scores, **{f"x{k}": c for k, c in enumerate(each.table.T)}})
        for name, each in tables.items()
    }
    if rng.random() < 0.5:
        frames["labels"] = pl.DataFrame({"id": case.labels().keys[:40], "label": case.labels().grades[:40]})
    for _ in range(rng.integers(1, 4)):
        name = str(rng.choice(list(frames)))
        try:
            frames[name] = CHANGES[rng.integers(len(CHANGES))](frames[name], rng)
        except (ValueError, pl.exceptions.PolarsError):
            continue  # a table that cannot be changed so
    return frames, rng


def run(folder, frames, formats, out, monkeypatch, capsys, *more):
    monkeypatch.chdir(folder)
    arguments = [f"main.{formats['main']}"]
    for name in frames:
        if name.startswith("r"):
            arguments += ["--reference", f"{name}.{formats[name]}"]
    if "labels" in frames:
        arguments += ["--labels", f"labels.{formats['labels']}"]
    monkeypatch.setattr(sys, "argv", ["manifuse", "refine", *arguments, "--out", out, "--json", *more])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr()
    return 0, capsys.readouterr()


def write_all(folder, frames, formats):
    for name, frame in frames.items():
        WRITERS[formats[name]](frame, folder / f"{name}.{formats[name]}")


def attack(seed, folder, monkeypatch, capsys):
    frames, rng = tables_of(seed)
    formats = {name: str(rng.choice(list(WRITERS))) for name in frames}
    out = f"out.{rng.choice(list(WRITERS))}"
    try:
        write_all(folder, frames, formats)
    except pl.exceptions.PolarsError:
        return None  # a table that this format cannot hold
    is_damaged = rng.random() < 0.15
    if is_damaged:
        name = str(rng.choice(list(frames)))
        path = folder / f"{name}.{formats[name]}"
        path.write_bytes(damaged(path.read_bytes(), rng))
    more = ["--same-target"] if rng.random() < 0.5 else []
    before = sorted(os.listdir(folder))
    status, said = run(folder, frames, formats, out, monkeypatch, capsys, *more)
    assert status in (0, 2), said.err
    assert "Traceback" not in said.err
    if status == 2:
        assert said.err.startswith("manifuse: ") or "\nmanifuse: " in said.err
        assert sorted(os.listdir(folder)) == before
        return status
    assert sorted(os.listdir(folder)) == sorted([*before, out, "out.run.toml"])
    facts = json.loads(said.out)
    assert facts["rows"] > 0
    refined = READERS[out.partition(".")[2]](folder / out)
    assert np.isfinite(refined["score"].to_numpy()).all()
    if not is_damaged and not any(map(is_rounded, frames.values())):
        in_another_order(refined, facts, frames, formats, out, folder / "again", rng, monkeypatch, capsys, more)
    return status


def is_rounded(frame):
    """Whether values are so large that differences of all others are rounded to nothing."""
    features = [frame[name].to_numpy() for name in of_numbers(frame) if name.startswith("x")]
    return any(np.abs(each).max() > 1e12 for each in features) or has_huge_score(frame)


def has_huge_score(frame):
    """Whether a score is so large beside the others that their differences are rounded."""
    if "score" not in of_numbers(frame):
        return False
    sizes = np.abs(frame["score"].to_numpy())
    return bool((sizes > 0).any()) and sizes.max() > 1e10 * np.median(sizes[sizes > 0])


def in_another_order(refined, facts, frames, formats, out, folder, rng, monkeypatch, capsys, more):
    """Rows and columns in another order give the same scores."""
    folder.mkdir()
    mixed = {
        name: frame.select(pl.nth(range(frame.width)[::-1]))[rng.permutation(len(frame)).tolist()]
        for name, frame in frames.items()
    }
    write_all(folder, mixed, formats)
    status, said = run(folder, mixed, formats, out, monkeypatch, capsys, *more)
    assert status == 0, said.err
    # Where rows seem to follow each other in time, their order says which labels are held out together.
    if "BY_RUN" in (facts["held_out"], json.loads(said.out)["held_out"]):
        return
    again = READERS[out.partition(".")[2]](folder / out)
    one, other = (each.with_columns(pl.col("id").cast(pl.String)).sort("id") for each in (refined, again))
    assert one["id"].to_list() == other["id"].to_list()
    scores, others = one["score"].to_numpy(), other["score"].to_numpy()
    spread = np.ptp(one["original"].to_numpy())
    # The search for variances stops where rounding tells it to.
    np.testing.assert_allclose(scores, others, rtol=1e-4, atol=1e-4 * spread)


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_cases_that_were_wrong_stay_right(seed, tmp_path, monkeypatch, capsys):
    assert attack(seed, tmp_path, monkeypatch, capsys) == 0


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_odd_tables_are_refused_in_a_sentence_or_refined(first, tmp_path, monkeypatch, capsys):
    found = []
    for seed in range(first, min(first + AT_ONCE, CASES)):
        folder = Path(tmp_path / str(seed))
        folder.mkdir()
        try:
            found.append(attack(seed, folder, monkeypatch, capsys))
        except BaseException as error:
            raise AssertionError(f"case {seed}") from error
    assert {0, 2} <= set(found)
    if LOG:
        with Path(LOG).open("a") as file:
            file.write("".join(f"{status}\n" for status in found))
