"""Odd requests, drawn by the thousand: labels, references, classes and later rows that mislead, and files that break.

Each case is drawn from its number, which also says its kind. Whatever comes, it is refused in one sentence, or the
result is finite and keeps the rule of its kind. ``make attack`` draws 2,500 cases; the tests draw a few.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import manifuse as mf
from manifuse.evidence.holding_out import Held
from tests.attack.test_odd_tables import WRITERS
from tests.cli.test_hostile_files import MOST, archive, head
from tests.problems import draw, remade
from tests.test_draws import respelled

CASES = int(os.environ.get("ATTACK_CASES", "21"))
#: A file that gets the end of each case: 0 for refined, 2 for refused.
LOG = os.environ.get("ATTACK_LOG")

#: Cases of one test; as many as there are in `ORDER`.
AT_ONCE = 21


def problem(rng):
    """Draw a problem of another size, with more or fewer pairs."""
    size = int(rng.integers(40, 120))
    return draw(
        int(rng.integers(7)), rows=size, pairs=int(rng.integers(10, size // 2)), references=int(rng.integers(1, 4))
    )


def check_result(result):
    """The rules for each result: finite scores, support in [0, 1], errors that are amounts, and a verdict to read."""
    assert np.isfinite(result.scores).all()
    assert ((result.refined.support >= 0) & (result.refined.support <= 1)).all()
    uncertainty = result.refined.uncertainty
    assert uncertainty is None or (np.isfinite(uncertainty) & (uncertainty >= 0)).all()
    assert result.accepted or np.array_equal(result.scores, result.main.scores)
    assert json.loads(json.dumps(result.to_dict()))["rows"] == len(result.main)
    assert "\n" in result.summary()


def misleading(truth, rng):
    """Labels that are reversed, random, tied, rounded, huge, or right."""
    ways = [
        lambda: -truth,
        lambda: rng.permutation(truth),
        lambda: np.sign(truth),
        lambda: np.round(truth, 1) * 10.0 ** rng.integers(-300, 300),
        lambda: np.where(rng.random(len(truth)) < 0.1, 1e6, truth),
        lambda: truth,
    ]
    return ways[rng.integers(len(ways))]()


def labels_at_pairs(rng, folder):
    """Labels of rows that references know: where they show a loss, these rows do not follow the references."""
    case = problem(rng)
    pairs = np.flatnonzero(np.isin(case.main.keys, case.references[0].keys))
    rows = pairs if rng.random() < 0.5 else np.union1d(pairs, case.labelled)
    result = mf.refine(
        case.main, case.references, mf.RankLabels(case.main.keys[rows], misleading(case.truth[rows], rng)), rng=0
    )
    check_result(result)
    at_pairs = result.evidence.measured.at_pairs
    assert at_pairs is None or not at_pairs.is_loss or result.reason.name != "PAIRS"


def reversed_labels(rng, folder):
    """Labels that misrank: what is accepted does not turn the main predictor around."""
    case = problem(rng)
    rows = rng.choice(len(case.main), int(rng.integers(6, len(case.main))), replace=False)
    labels = mf.RankLabels(case.main.keys[rows], misleading(case.truth[rows], rng))
    result = mf.refine(case.main, case.references, labels, rng=int(rng.integers(9)))
    check_result(result)
    assert np.corrcoef(np.argsort(np.argsort(result.scores)), np.argsort(np.argsort(case.main.scores)))[0, 1] > 0


def groups(rng, folder):
    """Groups of labels: they are held out together, and other names of the same groups change no bit."""
    case = problem(rng)
    keys, grades = case.labels().keys, misleading(case.labels().grades, rng)
    named = [f"g{number}" for number in rng.integers(0, rng.integers(1, 30), len(keys))]
    found = [
        mf.refine(case.main, case.references, mf.RankLabels(keys, grades, groups=each), rng=0)
        for each in (named, respelled(named))
    ]
    check_result(found[0])
    assert found[0].evidence.measured.held is Held.BY_GROUP
    np.testing.assert_array_equal(*(each.scores for each in found))


def returning(rng, folder):
    """Fitted rows that come again: unchanged ones keep their scores to the bit, changed ones are as new rows are."""
    case = problem(rng)
    result = mf.refine(case.main, case.references, case.labels() if rng.random() < 0.5 else None, rng=0)
    check_result(result)
    changed = rng.random(len(case.main)) < rng.random()
    scores = np.where(changed, case.main.scores + rng.choice([1.0, -50.0, 1e9]), case.main.scores)
    features = np.where((changed & (rng.random() < 0.5))[:, None], 1.0 - case.main.table, case.main.table)
    order = rng.permutation(len(scores))

    def again(keys, rows):
        return result.apply_in_full(mf.Observations(scores[rows], features[rows], ids=keys[rows], name="later"))

    whole = again(case.main.keys, order)
    assert np.isfinite(whole.scores).all()
    if result.accepted:
        np.testing.assert_array_equal(whole.scores[~changed[order]], result.scores[order][~changed[order]])
    split = int(rng.integers(1, len(order)))
    parts = [again(case.main.keys, rows) for rows in (order[:split], order[split:])]
    np.testing.assert_array_equal(np.concatenate([each.scores for each in parts]), whole.scores)
    fresh = again(np.array([f"new {key}" for key in case.main.keys]), order)
    np.testing.assert_array_equal(fresh.scores[changed[order]], whole.scores[changed[order]])


def adversarial(rng, folder):
    """References that lie: names do not count, only rows that references know are named, and these moved far."""
    case = problem(rng)
    chosen = rng.choice(case.main.keys, 5, replace=False)

    def lie(table):
        own, scores = np.isin(table.keys, chosen), table.scores
        ways = [
            lambda: np.where(own, scores.max(), scores),
            lambda: np.where(own, 1e6 * rng.choice([-1.0, 1.0]), scores),
            lambda: -scores,
            lambda: rng.permutation(scores),
            lambda: np.round(scores),
            lambda: scores + 1e-9 * rng.standard_normal(len(scores)),
            lambda: np.exp(20.0 * scores),
            lambda: scores,
        ]
        return remade(table, predictions=ways[rng.integers(len(ways))]())

    references = [lie(each) for each in case.references]
    references += [
        remade(
            references[0],
            predictions=references[0].scores + 1e-3 * rng.standard_normal(len(references[0])),
            name="copy",
        )
    ]
    labels = case.labels() if rng.random() < 0.3 else None
    result = mf.refine(case.main, references, labels, rng=0)
    check_result(result)
    tables = [remade(each, ids=respelled(each.keys.tolist())) for each in (case.main, *references)]
    other = None if labels is None else mf.RankLabels(respelled(labels.keys.tolist()), labels.grades)
    np.testing.assert_array_equal(mf.refine(tables[0], tables[1:], other, rng=0).scores, result.scores)
    known = set().union(*(set(each.keys) for each in references))
    assert set(result.evidence.unexplained) <= known & set(case.main.keys.tolist())


def classes(rng, folder):
    """Matrices of probabilities: they stay probabilities, and classes in another order change nothing but rounding."""
    case, count = problem(rng), int(rng.integers(2, 6))
    names = [f"c{number}" for number in range(count)]

    def matrix(table):
        raw = np.exp(table.scores[:, None] * np.linspace(-2, 2, count) + rng.standard_normal((len(table), count)))
        found = raw / raw.sum(axis=1, keepdims=True)
        row = int(rng.integers(len(found)))
        ways = [
            lambda: found,
            lambda: np.eye(count)[found.argmax(axis=1)],
            lambda: np.where(np.arange(len(found))[:, None] == row, rng.choice([np.nan, -0.1, 2.0, 0.0]), found),
            lambda: np.round(found, 2),
            lambda: np.where(np.arange(len(found))[:, None] == row, np.eye(count)[0], found),
            lambda: np.full_like(found, 1.0 / count),
        ]
        return ways[rng.choice(len(ways), p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1])]()

    chances = {each.name: matrix(each) for each in (case.main, *case.references)}

    def made(table, order):
        given = chances[table.name][:, order], table.table
        return mf.Observations(*given, ids=table.keys, name=table.name, classes=[names[place] for place in order])

    labels = None
    if rng.random() < 0.5:
        keys = case.labels().keys
        labels = mf.ClassLabels(keys, rng.choice([*names, "unknown"], len(keys)))
    plain, order = np.arange(count), rng.permutation(count)
    result = mf.refine(made(case.main, plain), [made(each, plain) for each in case.references], labels, rng=0)
    check_result(result)
    assert ((result.predictions >= 0) & (result.predictions <= 1)).all()
    np.testing.assert_allclose(result.predictions.sum(axis=1), 1.0, rtol=1e-9)
    assert set(result.predicted) <= set(names)
    again = mf.refine(made(case.main, order), [made(each, order[::-1]) for each in case.references], labels, rng=0)
    np.testing.assert_allclose(again.predictions, result.predictions[:, order], atol=1e-4)


#: Names of classes and groups that could be read as numbers, truth values, dates or missing values.
NAMES = ["01", "1", "1.0", "1e3", "True", "None", "nan", "2024-02-01", "a b", "ä", "A", "a"]


def classes_in_files(rng, folder):
    """Classes whose names look like other things, read from files: the files give what arrays of the same give."""
    case, names = problem(rng), rng.choice(NAMES, int(rng.integers(2, 5)), replace=False).tolist()

    def probabilities(table):
        raw = np.exp(table.scores[:, None] * np.linspace(-2, 2, len(names)) + rng.standard_normal(len(names)))
        return raw / raw.sum(axis=1, keepdims=True)

    chances = [probabilities(each) for each in (case.main, *case.references)]
    tables = [
        mf.Observations(own, each.table, ids=each.keys, name=each.name, classes=names)
        for own, each in zip(chances, (case.main, *case.references), strict=True)
    ]
    known = rng.choice(names, len(case.labelled))
    labels = mf.ClassLabels(case.labels().keys, known, groups=rng.choice(NAMES, len(known)))
    ending = str(rng.choice(["csv", "parquet", "jsonl"]))
    for place, table in enumerate(tables):
        columns = {f"p {name}": column for name, column in zip(names, chances[place].T, strict=True)}
        features = {f"x{number}": column for number, column in enumerate(table.table.T)}
        frame = pl.DataFrame({"id": table.keys, **columns, **features})
        WRITERS[ending](frame.select(rng.permutation(frame.columns).tolist()), folder / f"{place}.{ending}")
    grouped = pl.DataFrame({"label": known, "group": labels.groups, "id": labels.keys})
    WRITERS[ending](grouped, folder / f"labels.{ending}")
    main, *references = (str(folder / f"{place}.{ending}") for place in range(len(tables)))
    read = mf.refine_files(
        main, references, labels=folder / f"labels.{ending}", out=folder / "out.csv", classes="p (.*)", rng=0
    )
    given = mf.refine(tables[0], tables[1:], labels, rng=0)
    check_result(read)
    assert sorted(read.main.classes.names) == sorted(names)
    assert read.reason is given.reason
    order = [read.main.classes.names.index(name) for name in names]
    np.testing.assert_allclose(read.predictions[:, order], given.predictions, atol=1e-4)


def regressions(rng, folder):
    """Labels in other units than the scores: all in units twice as small are all twice as large, and errors, too."""
    case = problem(rng)
    rows = rng.choice(len(case.main), int(rng.integers(3, len(case.main))), replace=False)
    values = misleading(case.truth[rows], rng) * float(rng.choice([1.0, 1e-3, 50.0])) + float(rng.choice([0.0, 1e4]))
    found = []
    for factor in (1.0, 2.0):
        tables = [remade(each, predictions=factor * each.scores) for each in (case.main, *case.references)]
        labels = mf.RankLabels(case.main.keys[rows], factor * values)
        found.append(mf.refine(tables[0], tables[1:], labels, rng=0, task="regression"))
        check_result(found[-1])
    spread = np.ptp(found[0].scores) + np.ptp(case.main.scores)
    np.testing.assert_allclose(found[1].scores / 2.0, found[0].scores, rtol=1e-6, atol=1e-6 * spread)
    assert found[0].reason is found[1].reason


def few_of_one_kind(rng, folder):
    """Labels that are nearly all equal: they show no certain gain, and errors are not next to nothing."""
    case = problem(rng)
    grades = np.zeros(len(case.labelled))
    grades[rng.choice(len(grades), int(rng.integers(1, 9)), replace=False)] = rng.choice([1.0, -1.0, 1e9])
    result = mf.refine(case.main, case.references, mf.RankLabels(case.labels().keys, grades), rng=0)
    check_result(result)
    others = int((grades != 0).sum())
    assert result.gain is None or result.gain.is_of_few is (others < 5)
    if result.refined.uncertainty is not None and result.accepted:
        assert result.refined.uncertainty.min() > 1e-3 * case.main.scores.std()


def frames(rng, folder):
    """Data frames whose columns are called by numbers or blanks: they go by name, in any order."""
    case, kinds = problem(rng), ["{}", "{}.0", " {}", "x {}"]
    form = kinds[rng.integers(len(kinds))]

    def frame(table, order):
        features = pd.DataFrame(table.table, columns=[form.format(k) for k in range(table.table.shape[1])])
        if form == "{}" and is_whole:
            features.columns = range(features.shape[1])
        return features.iloc[:, order].assign(id=table.keys, score=table.scores)

    is_whole = bool(rng.random() < 0.5)
    plain = np.arange(case.main.table.shape[1])
    references = [frame(each, rng.permutation(plain)) for each in case.references]
    found = mf.refine(frame(case.main, plain), references, rng=0)
    again = mf.refine(frame(case.main, rng.permutation(plain)), references, rng=0)
    np.testing.assert_allclose(again.scores, found.scores, atol=1e-4 * np.ptp(case.main.scores))
    later = frame(case.main, rng.permutation(plain))[::-1]
    np.testing.assert_array_equal(found.apply(later)["score"][::-1], found.scores)


def hostile_parquet(rng, path):
    """Columns that pack well: long or equal ids, texts, lists, numbers of odd types."""
    rows = int(10 ** rng.uniform(1, 6))
    width = int(min(10 ** rng.uniform(0, 6), 3e8 / rows)) or 1
    ids = [
        pl.Series([f"m{row}" for row in range(rows)]),
        pl.Series(["b" * width]).extend_constant("b", 0).new_from_index(0, rows),
        pl.Series(["b" * width, *(f"m{row}" for row in range(1, rows))]),
        pl.Series(np.arange(rows)),
    ]
    kinds = [pl.Int8, pl.Float32, pl.UInt64, pl.Float64, pl.String, pl.List(pl.Int8), pl.Boolean]
    features = {f"x{number}": pl.Series([0] * rows, dtype=pl.Int8) for number in range(int(rng.integers(1, 60)))}
    kind = kinds[rng.integers(len(kinds))]
    more = pl.Series([[0]] * rows) if kind == pl.List(pl.Int8) else features["x0"].cast(kind)
    columns = {
        "id": ids[rng.integers(len(ids))],
        "score": pl.int_range(rows, eager=True).cast(pl.Float64),
        "more": more,
    }
    pl.DataFrame(columns | features).write_parquet(path.with_suffix(".parquet"), compression="zstd")
    return path.with_suffix(".parquet")


def hostile_archive(rng, path):
    """Arrays whose heads promise much, of any type, before few bytes or many that are equal."""
    kinds = ["<U0", "<U1", "<U900", "|S5", "|u1", "<f2", "<f4", "<f8", "<i8", "|b1", "<c16", "<M8[s]", "|V0"]
    members = {}
    for name in ("ids", "scores", "features"):
        kind = kinds[rng.integers(len(kinds))]
        if rng.random() < 0.7:
            kind = {"ids": "<i8", "scores": "<f8", "features": "|u1"}[name]
        shape = [int(10 ** rng.uniform(0, 10)) for _ in range(rng.integers(0, 3))]
        promised = int(np.prod(shape, dtype=float)) * np.dtype(kind).itemsize
        there = promised if rng.random() < 0.5 and promised < 1e8 else int(rng.integers(0, 1000))
        members[name] = head(kind, *shape) + bytes(there)
    archive(path.with_suffix(".npz"), **members)
    return path.with_suffix(".npz")


def hostile(rng, folder):
    """Hostile files, read by a process that may take 3 GiB: it ends in a minute, with a sentence or a result."""
    file = (hostile_parquet if rng.random() < 0.5 else hostile_archive)(rng, folder / "main")
    (folder / "reference.csv").write_text("id,score\n" + "\n".join(f"m{row},{row % 7}" for row in range(60)))
    command = [
        sys.executable,
        "-m",
        "manifuse",
        "refine",
        file.name,
        "--reference",
        "reference.csv",
        "--out",
        "out.csv",
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST)),
    )
    assert done.returncode in (0, 2), done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        assert "manifuse: " in done.stderr
        assert sorted(os.listdir(folder)) == sorted([file.name, "reference.csv"])
        raise mf.InputError(done.stderr.strip().splitlines()[-1])


KINDS = [
    labels_at_pairs,
    reversed_labels,
    groups,
    returning,
    adversarial,
    classes,
    classes_in_files,
    regressions,
    few_of_one_kind,
    frames,
]

#: The number of a case says its kind. Hostile files take a process each, so there are fewer of them.
ORDER = [*KINDS, *KINDS, hostile]

#: Cases that large draws found: equal probabilities with classes in two orders, nine reversed labels, and misleading
#: labels of nearly all rows.
ONCE_WRONG = ((classes, 59), (classes, 347), (reversed_labels, 548), (reversed_labels, 1980))


def attack(kind, number, folder):
    """Return 0 if what was asked for was done, and 2 if it was refused in a sentence."""
    folder.mkdir()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.ManifuseWarning)
            kind(np.random.default_rng([number, 2]), folder)
    except mf.InputError as error:
        refusal = str(error)
    else:
        return 0
    assert "\n" not in refusal
    assert refusal.endswith(".")
    return 2


@pytest.mark.parametrize("kind, number", ONCE_WRONG)
def test_cases_that_were_wrong_stay_right(kind, number, tmp_path):
    assert attack(kind, number, tmp_path / "case") == 0


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_odd_requests_are_refused_in_a_sentence_or_keep_the_rules(first, tmp_path):
    found = []
    for number in range(first, min(first + AT_ONCE, CASES)):
        try:
            found.append(attack(ORDER[number % len(ORDER)], number, tmp_path / str(number)))
        except BaseException as error:
            raise AssertionError(f"case {number}, {ORDER[number % len(ORDER)].__name__}") from error
    assert 0 in found
    if LOG:
        with Path(LOG).open("a") as file:
            file.write("".join(f"{ORDER[(first + k) % len(ORDER)].__name__} {end}\n" for k, end in enumerate(found)))
