"""Ids and names of files that look harmless and are not."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.problems import draw, write_table

import manifuse as mf
from manifuse.cli import app
from manifuse.tables.pairing import more_if_spelled


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return draw(0, rows=60, pairs=30, references=1)


def write(table, path, ids):
    features = {f"x{k}": column for k, column in enumerate(table.table.T)}
    pl.DataFrame({"id": ids, "score": table.scores, **features}).write_csv(path)


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *arguments])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr().err
    return 0, capsys.readouterr().err


REFINE = ("refine", "main.csv", "--reference", "theirs.csv", "--out", "out.csv")


def test_whole_ids_that_are_floats_come_back_in_digits(case, capsys, monkeypatch):
    numbers = {key: float(10**15 + row) for row, key in enumerate([*case.main.keys, *case.references[0].keys])}
    for name, table in (("main", case.main), ("theirs", case.references[0])):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        ids = [numbers[key] for key in table.keys]
        pl.DataFrame({"id": ids, "score": table.scores, **features}).write_parquet(f"{name}.parquet")
    done, said = run(
        capsys, monkeypatch, "refine", "main.parquet", "--reference", "theirs.parquet", "--out", "out.csv"
    )
    assert done == 0, said
    written = [line.partition(",")[0] for line in Path("out.csv").read_text().splitlines()[1:]]
    assert written == [str(int(numbers[key])) for key in case.main.keys]


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
@pytest.mark.parametrize("change", [lambda key: key + "\u200b", lambda key: key.replace("é", "e\u0301")])
def test_ids_that_look_alike_and_do_not_pair_are_counted(case, capsys, monkeypatch, change):
    named = {key: f"é-{key}" for key in (*case.main.keys, *case.references[0].keys)}
    write(case.main, "main.csv", [named[key] for key in case.main.keys])
    paired = [key for key in case.references[0].keys if key in set(case.main.keys)][:12]
    theirs = [change(named[key]) if key in paired else named[key] for key in case.references[0].keys]
    write(case.references[0], "theirs.csv", theirs)
    done, said = run(capsys, monkeypatch, *REFINE)
    assert done == 0, said
    assert "12 more ids of theirs would be equal to ids of main if both wrote characters in one way" in said


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
def test_ids_that_a_spreadsheet_would_run_are_named(case, capsys, monkeypatch):
    for name, table in (("main", case.main), ("theirs", case.references[0])):
        write(table, f"{name}.csv", ["=" + key for key in table.keys])
    done, said = run(capsys, monkeypatch, *REFINE)
    assert done == 0, said
    assert "out.csv has text such as '=m0', which a spreadsheet would run as a formula" in said
    done, said = run(capsys, monkeypatch, *REFINE[:-1], "out.parquet")
    assert "spreadsheet" not in said
    plain = pl.read_csv("out.csv")
    Path("more.toml").write_text("escape_formulas = true\n")
    done, said = run(capsys, monkeypatch, *REFINE, "--config", "more.toml")
    assert "spreadsheet" not in said
    escaped = pl.read_csv("out.csv")
    assert escaped["id"].to_list() == [f"'{each}" for each in plain["id"]]
    assert escaped.drop("id").equals(plain.drop("id"))


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
def test_names_of_classes_that_a_spreadsheet_would_run_are_escaped(tmp_path):
    columns = {"id": np.array(["a", "b"]), "predicted": np.array(["=1+1", "plain"]), "p_=1+1": np.array([0.7, 0.3])}
    with pytest.warns(mf.ManifuseWarning, match=r"has text such as '=1\+1', which a spreadsheet would run"):
        write_table(tmp_path / "out.csv", columns)
    write_table(tmp_path / "escaped.csv", columns, escape=True)
    assert pl.read_csv(tmp_path / "escaped.csv")["predicted"].to_list() == ["'=1+1", "plain"]


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
@pytest.mark.parametrize("change, risky", [("-1+{}", True), ("@{}", True), ("-{}", False), ("+{}.5", False)])
def test_a_number_with_a_sign_is_no_formula(case, capsys, monkeypatch, change, risky):
    for name, table in (("main", case.main), ("theirs", case.references[0])):
        write(table, f"{name}.csv", [change.format(key[1:] + "0" * (key[0] == "r")) for key in table.keys])
    done, said = run(capsys, monkeypatch, *REFINE)
    assert done == 0, said
    assert ("spreadsheet" in said) is risky


def test_a_terminal_is_told_nothing_by_a_name(case, capsys, monkeypatch):
    write(case.main, "main.csv", case.main.keys)
    done, said = run(capsys, monkeypatch, "refine", "main.csv", "--reference", "\x1b[2Jgone.csv", "--out", "out.csv")
    assert done == 2
    assert "\x1b" not in said
    assert "[2Jgone.csv" in said


@pytest.mark.parametrize("command", ["config", "model"])
def test_a_pipe_is_refused_at_once(case, capsys, monkeypatch, command):
    write(case.main, "main.csv", case.main.keys)
    os.mkfifo("pipe.npz")
    arguments = {
        "config": ("refine", "--config", "pipe.npz"),
        "model": ("apply", "pipe.npz", "main.csv", "--out", "out.csv"),
    }[command]
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 2
    assert "pipe.npz is a pipe or a device, but a file was expected" in said


def test_a_device_without_end_is_refused_at_once(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    done, said = run(capsys, monkeypatch, "refine", "--config", "/dev/zero")
    assert done == 2
    assert "/dev/zero is a pipe or a device" in said


def test_a_name_with_a_control_character_is_refused(case, capsys, monkeypatch):
    for name, table in (("main", case.main), ("theirs", case.references[0])):
        write(table, f"{name}.csv", table.keys)
    done, said = run(capsys, monkeypatch, *REFINE[:-1], "o\x1b[31mut.csv")
    assert done == 2
    assert "has a control character; rename it." in said
    assert "\x1b[31m" not in said


def test_ids_in_python_are_counted_too(case):
    main = mf.Observations(case.main.scores, case.main.table, ids=[f"ü{key}" for key in case.main.keys], name="main")
    reference = case.references[0]
    composed = np.isin(reference.keys, case.main.keys).cumsum() <= 10
    ids = [("u\u0308" if other else "ü") + key for key, other in zip(reference.keys, composed, strict=True)]
    theirs = mf.Observations(reference.scores, reference.table, ids=ids, name="theirs")
    with pytest.warns(mf.ManifuseWarning, match="10 more ids of theirs would be equal to ids of main"):
        mf.refine(main, [theirs], rng=0)


def test_ids_that_look_alike_are_counted_though_one_table_has_both_spellings(case):
    main = mf.Observations(
        case.main.scores, case.main.table, ids=[f"\u00fc{key}" for key in case.main.keys], name="main"
    )
    (reference,) = case.references
    composed = np.isin(reference.keys, case.main.keys).cumsum() <= 10
    ids = [("u\u0308" if other else "\u00fc") + key for key, other in zip(reference.keys, composed, strict=True)]
    # The last row is the first one in the other spelling.
    ids[-1] = ids[int(np.flatnonzero(~composed)[0])].replace("\u00fc", "u\u0308")
    theirs = mf.Observations(reference.scores, reference.table, ids=ids, name="theirs")
    with pytest.warns(mf.ManifuseWarning, match="10 more ids of theirs would be equal to ids of main"):
        mf.refine(main, [theirs], rng=0)


@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("capitals", [0, 4, 6, 25])
def test_ids_that_differ_in_capitals_are_noticed(case, capitals, collide):
    """Unless capitals tell two rows of one table apart, and most ids are equal as they are."""
    (theirs,), keys = case.references, case.references[0].keys
    common = np.flatnonzero(np.isin(keys, case.main.keys))[:capitals]
    ids = [key.upper() if row in common else key for row, key in enumerate(keys.tolist())]
    if collide:
        ids[-1] = ids[-2].swapcase()
    other = mf.Observations(theirs.scores, theirs.table, ids=ids, name="theirs")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(case.main, [other], rng=0)
    said = [str(each.message) for each in caught if getattr(each.message, "code", "") == "spelling_of_ids"]
    assert len(said) == (capitals == 25 or (capitals == 6 and not collide))
    assert all(
        f"{capitals} more ids of theirs would be equal to ids of main if both wrote capitals in one way" in each
        for each in said
    )


@pytest.mark.parametrize("collide", [False, True])
def test_ids_that_lost_leading_zeros_are_noticed(case, collide):
    """Those from 100 on have none to lose."""
    (theirs,) = case.references
    places = {key: row + 80 for row, key in enumerate(dict.fromkeys([*case.main.keys, *theirs.keys]))}
    ours = [f"{places[key]:03d}" for key in case.main.keys]
    ids = [str(places[key]) for key in theirs.keys]
    if collide:
        # The zeros tell two rows apart.
        ids[-1] = f"0{ids[0]}"
    lost = len({row.lstrip("0") for row in ours} & {*ids}) - len({*ours} & {*ids})
    assert lost > 5
    main = mf.Observations(case.main.scores, case.main.table, ids=ours, name="main")
    other = mf.Observations(theirs.scores, theirs.table, ids=ids, name="theirs")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(main, [other], rng=0)
    said = [str(each.message) for each in caught if getattr(each.message, "code", "") == "spelling_of_ids"]
    expected = f"{lost} more ids of theirs would be equal to ids of main if both wrote leading zeros in one way"
    assert [each.startswith(expected) for each in said] == ([] if collide else [True])


@pytest.mark.parametrize("ours, theirs", [("P{:04d}", "P{:d}"), ("P-{:d}", "P{:d}"), ("a_{:d}", "A {:d}")])
def test_ids_that_differ_after_a_letter_are_noticed(case, ours, theirs):
    """As a hospital writes them, and a spreadsheet or another program."""
    (table,) = case.references
    places = {key: row + 1 for row, key in enumerate(dict.fromkeys([*case.main.keys, *table.keys]))}
    main = mf.Observations(case.main.scores, case.main.table, ids=[ours.format(places[key]) for key in case.main.keys])
    half = [(ours if row % 2 else theirs).format(places[key]) for row, key in enumerate(table.keys)]
    other = mf.Observations(table.scores, table.table, ids=half, name="theirs")
    lost = sum(row % 2 == 0 for row, key in enumerate(table.keys) if key in {*case.main.keys})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(main, [other], rng=0)
    said = [str(each.message) for each in caught if getattr(each.message, "code", "") == "spelling_of_ids"]
    way = "leading zeros" if "04" in ours else "hyphens, blanks and other signs"
    expected = f"{lost} more ids of theirs would be equal to ids of table if both wrote {way} in one way; spell them"
    assert lost > 10
    assert [each.startswith(expected) for each in said] == ([True] if "P" in ours else [])


@pytest.mark.parametrize("row", [0, 40], ids=["paired", "not paired"])
def test_pairs_hide_no_id_of_a_reference_that_comes_twice(case, capsys, monkeypatch, row):
    named = {key: f"r{place}" for place, key in enumerate(case.references[0].keys)}
    pairs = {"main": list(named)[:40], "reference": list(named.values())[:40]}
    pl.DataFrame(pairs).write_csv("pairs.csv")
    names = [*named.values()]
    names[50] = names[row]
    write(case.main, "main.csv", case.main.keys)
    write(case.references[0], "theirs.csv", names)
    done, said = run(capsys, monkeypatch, *REFINE, "--pairs", "pairs.csv")
    assert done == 2
    assert f"The id column of theirs has 1 repeated value (first: 'r{row}')" in said


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_equal_ids_that_the_pairs_do_not_pair_are_counted(capsys, monkeypatch, tmp_path):
    """20 rows have other names there, and 10 have the same: the table lists only the first, or mixes up the others."""
    monkeypatch.chdir(tmp_path)
    case = draw(0, rows=60, pairs=30, references=1)
    table = case.references[0]
    write(case.main, "main.csv", case.main.keys)
    common = np.flatnonzero(np.isin(table.keys, case.main.keys))
    names = table.keys.astype(object)
    names[common[10:]] = [f"z{row}" for row in range(20)]
    write(table, "theirs.csv", names)
    listed = {"main": table.keys[common[10:]], "reference": names[common[10:]]}
    same, turned = names[common[:10]], np.roll(names[common[:10]], 1)
    kinds = {
        "few": (listed, 10),
        "all": ({"main": [*listed["main"], *same], "reference": [*listed["reference"], *same]}, 0),
        "mixed": ({"main": [*listed["main"], *same], "reference": [*listed["reference"], *turned]}, 10),
    }
    for kind, (pairs, apart) in kinds.items():
        pl.DataFrame({side: [str(name) for name in each] for side, each in pairs.items()}).write_csv(f"{kind}.csv")
        done, said = run(capsys, monkeypatch, *REFINE, "--pairs", f"{kind}.csv")
        assert done == 0, said
        warned = f"does not pair {apart} rows of theirs with the rows of main that have the same ids"
        assert (warned in " ".join(said.split())) is (apart > 0)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_pairs_of_tables_that_did_not_come_are_left_out(capsys, monkeypatch, tmp_path):
    """Two partners number their rows 0, 1, 2 ..., and one of them is left out."""
    monkeypatch.chdir(tmp_path)
    case = draw(0, rows=60, pairs=30, references=2)
    write(case.main, "main.csv", case.main.keys)
    lines = []
    for name, table in zip(("other", "theirs"), case.references, strict=True):
        write(table, f"{name}.csv", [str(row) for row in range(len(table))])
        common = np.flatnonzero(np.isin(table.keys, case.main.keys))
        half = common[: len(common) // 2] if name == "theirs" else common[len(common) // 2 :]
        lines += [{"main": table.keys[row], "reference": str(row), "table": name} for row in half]
    pairs = pl.DataFrame(lines)
    pairs.write_csv("all.csv")
    ours = pairs.filter(pl.col("table") == "theirs")
    ours.drop("table").write_csv("ours.csv")
    written = {}
    for name in ("ours", "all"):
        done, said = run(capsys, monkeypatch, *REFINE, "--pairs", f"{name}.csv")
        assert done == 0, said
        written[name] = Path("out.csv").read_text()
        left = f"all.csv has {len(pairs) - len(ours)} pairs of tables that did not come (other); they are left out"
        assert (left in " ".join(said.split())) == (name == "all")
    assert written["all"] == written["ours"]
    pl.DataFrame({"id": case.main.keys, "label": case.truth}).write_csv("known.csv")
    alone = ("refine", "main.csv", "--labels", "known.csv", "--pairs", "all.csv", "--out", "alone.csv")
    done, said = run(capsys, monkeypatch, *alone)
    assert (done, "--pairs came without references; give the references" in " ".join(said.split())) == (2, True)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_groups_of_ordered_pairs_are_said_not_to_count(case, capsys, monkeypatch):
    write(case.main, "main.csv", case.main.keys)
    ranked = case.main.keys[np.argsort(case.truth)]
    pl.DataFrame({"better": ranked[30:], "worse": ranked[:30], "group": ["a"] * 30}).write_csv("known.csv")
    done, said = run(capsys, monkeypatch, "refine", "main.csv", "--labels", "known.csv", "--out", "out.csv")
    assert (done, "so the groups beside them are not used" in " ".join(said.split())) == (0, True)


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
def test_sentences_say_what_came(case, capsys, monkeypatch):
    base = ["refine", "main.csv", "--reference", "theirs.csv", "--out", "refined.csv"]
    write(case.main, "main.csv", case.main.keys)
    write(case.references[0], "theirs.csv", case.references[0].keys)
    known = pl.DataFrame({"id": ["stranger", *case.labels().keys], "label": [0.0, *case.labels().grades]})
    known.write_csv("known.csv")
    done, said = run(capsys, monkeypatch, *base, "--labels", "known.csv")
    assert done == 0
    assert "1 label is of an id that main does not have" in " ".join(said.split())
    assert "; it is left out, and the others (60) are used." in " ".join(said.split())
    known.rename({"label": "truth"}).write_csv("truth.csv")
    done, said = run(capsys, monkeypatch, *base, "--labels", "truth.csv", "--label", "id")
    assert (done, "--id and --label both name the column 'id'" in " ".join(said.split())) == (2, True)
    ids = case.main.keys[:20]
    pl.DataFrame({"main": ids, "reference": ids, "table": ["q0.csv"] * 20}).write_csv("pairs.csv")
    done, said = run(capsys, monkeypatch, *base, "--pairs", "pairs.csv")
    says = "The column 'table' of pairs.csv names q0.csv, but the references are theirs; name these."
    assert (done, says in " ".join(said.split())) == (2, True)


@pytest.mark.parametrize(
    "ours, theirs, told",
    [
        ([f"A-{row}" for row in range(9)], [f"A{row}" for row in range(9)], 9),
        ([f"A-{row}" for row in range(4)], [f"A{row}" for row in range(4)], 0),  # by chance
        (["A1", *(f"A-{row}" for row in range(9))], [f"A{row}" for row in range(9)], 0),  # signs tell rows apart
        ([f"-{row}" for row in range(40, 49)], [str(row) for row in range(40, 49)], 0),  # numbers
        ([f"{row}.5" for row in range(40, 49)], [f"{row}5" for row in range(40, 49)], 0),
        ([f"{row}.05" for row in range(9)], [f"{row}.5" for row in range(9)], 0),
        ([f"{row}.0" for row in range(1, 9)], [str(row) for row in range(1, 9)], 8),
        ([f"{row:03d}" for row in range(1, 9)], [str(row) for row in range(1, 9)], 8),
        (["7", "1e+05", "2.5E6"], ["7", "100000", "2500000"], 2),  # R writes so
        (["7", "1e+05"], ["7", "1000000"], 0),
    ],
)
def test_ids_are_the_same_without_what_programs_write_otherwise(ours, theirs, told):
    main = mf.Observations(np.arange(len(ours)), ids=ours, name="ours")
    said = more_if_spelled(main, "theirs", np.array(theirs), len({*ours} & {*theirs}))
    assert said.startswith(f"{told} more ids of theirs") if told else said == ""
