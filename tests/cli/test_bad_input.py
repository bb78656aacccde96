"""Input that is refused: one sentence, exit status 2, nothing written, no traceback."""

import datetime
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.printed import rows_of_page, sentence_of, sentence_on_page
from tests.problems import draw, remade

from manifuse.cli import app
from manifuse.errors import ManifuseWarning
from manifuse.files import shorten


def table(observations, **columns):
    features = {} if observations.table is None else {f"x{k}": c for k, c in enumerate(observations.table.T)}
    return pl.DataFrame({"id": observations.keys, "score": observations.scores, **features} | columns)


CASE = draw(0, rows=60, pairs=30, references=1)
MAIN, REFERENCE = table(CASE.main), table(CASE.references[0])
LABELS = pl.DataFrame({"id": CASE.main.keys[:20], "label": np.arange(20)})
PLAIN = MAIN.write_csv()
SHARE = pl.col("x0").rank() / (len(MAIN) + 1)


def text(content):
    return lambda path: path.write_text(content)


def binary(content):
    return lambda path: path.write_bytes(content)


def frame(content):
    return lambda path: content.write_csv(path)


def archive(**arrays):
    return lambda path: np.savez(path, **arrays)


def doubled(**arrays):
    """Writes an archive, and its first array again under the same name."""

    def write(path):
        np.savez(path, **arrays)
        first = next(iter(arrays))
        with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings(action="ignore"):
            file.writestr(f"{first}.npy", file.read(f"{first}.npy"))

    return write


def stored(content, ending, *, damage=lambda whole: whole):
    """Writes a table as Parquet or Arrow, and then damages the file."""

    def write(path):
        getattr(content, {"parquet": "write_parquet", "arrow": "write_ipc"}[ending])(path)
        path.write_bytes(damage(path.read_bytes()))

    return write


def half(whole):
    return whole[: len(whole) // 2]


def broken_foot(whole):
    return whole[:-60] + b"\xff" * 40 + whole[-20:]


def cell(frame, column, row, value):
    return frame.with_columns(
        pl.when(pl.int_range(frame.height) == row).then(pl.lit(value)).otherwise(pl.col(column)).alias(column)
    )


#: For each case: the files that it replaces, further arguments, and what the message contains.
CASES = {
    "no common ids": (
        {"reference.csv": frame(REFERENCE.with_columns(("z" + pl.col("id")).alias("id")))},
        [],
        "shares 0",
    ),
    "two pairs": (
        {"reference.csv": frame(table(draw(0, rows=60, pairs=2, references=1).references[0]))},
        [],
        "shares 2 of its 60 ids",
    ),
    "ids repeat": ({"main.csv": frame(cell(MAIN, "id", 1, "m0"))}, [], "1 repeated value (first: 'm0')"),
    "ids missing": ({"main.csv": frame(cell(MAIN, "id", 1, None))}, [], "no value in line 3"),
    "NaN score": ({"main.csv": frame(cell(MAIN, "score", 2, float("nan")))}, [], "score in line 4"),
    "infinite feature": ({"main.csv": frame(cell(MAIN, "x1", 4, float("inf")))}, [], "features (x1) in line 6"),
    "missing feature": ({"reference.csv": frame(cell(REFERENCE, "x1", 4, None))}, [], "features (x1) in line 6"),
    "constant main": ({"main.csv": frame(MAIN.with_columns(pl.lit(1.0).alias("score")))}, [], "All scores of main"),
    "labels for unknown ids": (
        {"labels.csv": frame(LABELS.with_columns(("q" + pl.col("id")).alias("id")))},
        ["--labels", "labels.csv"],
        "No label is of an id that main has",
    ),
    "labels all equal": (
        {"labels.csv": frame(LABELS.with_columns(pl.lit(1).alias("label")))},
        ["--labels", "labels.csv"],
        "all equal",
    ),
    "labels with other columns": (
        {"labels.csv": frame(LABELS.rename({"label": "grade"}))},
        ["--labels", "labels.csv"],
        "id and label, or better and worse",
    ),
    "text among labels": (
        {"labels.csv": text("id,label\nm1,1\nm2,high\n")},
        ["--labels", "labels.csv"],
        "numbers",
    ),
    "labels that contradict": (
        {"labels.csv": text("better,worse\nm1,m2\nm2,m1\n")},
        ["--labels", "labels.csv"],
        "both above and below",
    ),
    "text among scores": ({"main.csv": text("id,score,x\na,1,2\nb,high,3\n")}, [], "'score' of main.csv holds 'high'"),
    "text among features": ({"main.csv": text("id,score,x\na,1,2\nb,2,wide\n")}, [], "'x' of main.csv holds 'wide'"),
    "an empty file": ({"main.csv": text("")}, [], "main.csv is empty"),
    "a header alone": ({"main.csv": text("id,score,x\n")}, [], "main has 0 rows, but at least 3"),
    "not a Parquet file": ({"main.parquet": text("not parquet at all")}, [], "cannot be read as parquet"),
    "not an archive": ({"main.npz": text("not an archive")}, [], "NumPy archive"),
    "half an archive": ({"main.npz": binary(b"PK\x03\x04" + b"\x00" * 60)}, [], "NumPy archive"),
    "an archive without scores": ({"main.npz": archive(ids=np.arange(3))}, [], "has no 'scores'"),
    "an archive with two arrays of one name": (
        {"main.npz": doubled(scores=np.arange(3.0), ids=np.arange(3))},
        [],
        "has 2 arrays called 'scores'",
    ),
    "an archive with two names of the scores": (
        {"main.npz": archive(score=np.arange(3.0), scores=np.arange(3.0), ids=np.arange(3))},
        [],
        "has the arrays 'score' and 'scores', which mean the same",
    ),
    "an archive with two classes of one name": (
        {"main.npz": archive(ids=np.arange(3), scores=np.full((3, 3), 1 / 3), classes=np.array(["a", "b", "b"]))},
        [],
        "main has the class 'b' twice",
    ),
    "an archive of objects": (
        {"main.npz": archive(ids=np.array([{}], dtype=object), scores=np.ones(1))},
        [],
        "Array 'ids' of main.npz holds Python objects, which are not read; save it as text or numbers",
    ),
    "a column missing": ({"main.csv": frame(MAIN.drop("score"))}, [], "has no 'score' (it has: id, x0"),
    "an unknown ending": ({"main.xlsx": text("?")}, [], "ends in '.xlsx'"),
    "a file missing": ({}, ["--reference", "elsewhere.csv"], "elsewhere.csv is not there"),
    "a reference equal to the main table": ({"reference.csv": frame(MAIN)}, [], "is the main table itself"),
    "features missing": (
        {"main.csv": frame(MAIN.select("id", "score"))},
        [],
        "main has no features, so nothing connects",
    ),
    "features all equal": (
        {"main.csv": frame(MAIN.select("id", "score").with_columns(pl.lit(2.0).alias("x")))},
        [],
        "All feature rows of main are equal",
    ),
    "features of another length": (
        {"f.npy": lambda path: np.save(path, np.ones((7, 2)))},
        "main.csv::f.npy",
        "7 feature rows",
    ),
    "features that are not an array": (
        {"f.npy": text("no array")},
        "main.csv::f.npy",
        "cannot be read as a NumPy array",
    ),
    "the column of the ids left out": ({}, ["--drop", "id"], "--drop id came, but main.csv has its id in that column"),
    "the column of the scores left out": (
        {},
        ["--drop", "score"],
        "main.csv has its score in that column; keep it, or",
    ),
    "a column without a name left out that no table has": (
        {},
        ["--drop", ""],
        "--drop '' came, but no table has such a column",
    ),
    "a column left out that no table has": (
        {},
        ["--drop", "city"],
        "--drop city came, but no table has such a column",
    ),
    "a label column that no table has": (
        {"l.csv": text("id,label\nm1,1\nm2,2\n")},
        ["--labels", "l.csv", "--label", "lbl"],
        "--label lbl came, but no table has such a column",
    ),
    "no feature column chosen": (
        {},
        ["--features", "nothing"],
        "No column of main.csv has a name that starts with a match",
    ),
    "no column of classes": ({}, ["--classes", "p_(.*)"], "0 columns of main.csv match it"),
    "a column of ids named like a column of the output": (
        {"main.csv": frame(MAIN.rename({"id": "support"}))},
        ["--id", "support"],
        "main.csv has its ids in a column 'support', a name that the output has; rename it",
    ),
    "percentages that should be probabilities": (
        {"main.csv": frame(MAIN.with_columns(p_a=pl.int_range(60), p_b=100 - pl.int_range(60)))},
        ["--classes", "p_(.*)"],
        "if they are percentages, divide by 100",
    ),
    "probabilities that do not sum to 1": (
        {"main.csv": frame(MAIN.with_columns(p_a=pl.lit(0.2), p_b=pl.lit(0.3)))},
        ["--classes", "p_(.*)"],
        "do not sum to 1 in lines 2, 3",
    ),
    "labels of other classes": (
        {
            "main.csv": frame(MAIN.with_columns(p_a=pl.int_range(60) / 100, p_b=1 - pl.int_range(60) / 100)),
            "known.csv": text("id,label\nm0,c\nm1,d\n"),
        },
        ["--classes", "p_(.*)", "--labels", "known.csv"],
        "of classes that main does not have",
    ),
    "not a regular expression": ({}, ["--features", "["], "is not a regular expression"),
    "an unknown task": ({}, ["--task", "sorting"], "'ranking' or 'regression' were expected"),
    "an unknown output ending": ({}, ["--out", "out.docx"], "ends in '.docx'"),
    "an output folder missing": ({}, ["--out", "nowhere/out.csv"], "The folder nowhere is not there"),
    "a report of another kind": ({}, ["--report", "page.pdf"], "ends in '.pdf', but reports end in .html"),
    "a report folder missing": ({}, ["--report", "nowhere/page.html"], "The folder nowhere is not there"),
    "labels given twice": (
        {"known.csv": text("id,label\nm0,1\nm1,0\n")},
        ["--labels", "known.csv", "--labels=known.csv"],
        "--labels came 2 times, but it takes one value; give it once.",
    ),
    "opposite options": ({}, ["--same-target", "--ask-references"], "one says the opposite of the other; give one."),
    "a reference given twice": ({}, ["--reference", "reference.csv"], "was given twice"),
    "pairs without columns": ({"p.csv": text("a,b\n1,2\n")}, ["--pairs", "p.csv"], "has no 'main' (it has: a, b)"),
    "pairs of unknown ids": ({"p.csv": text("main,reference\nm1,zz\n")}, ["--pairs", "p.csv"], "names 'zz'"),
    "a row paired twice": (
        {"p.csv": text("main,reference\nm1,r50\nm1,r51\n")},
        ["--pairs", "p.csv"],
        "'m1' of main twice",
    ),
    "a title above the header": ({"main.csv": text("July\nid,score,x0\nm1,1,2\n")}, [], "if a title stands above"),
    "features that are an archive": ({"f.npz": archive(x=np.ones(3))}, "main.csv::f.npz", "must end in .npy"),
    "features chosen in an archive": (
        {"main.npz": archive(ids=np.arange(9), scores=np.arange(9.0), features=np.ones((9, 1)))},
        ["--features", "x"],
        "has no columns to choose from",
    ),
    "a name too long": ({}, ["--reference", "r" * 300 + ".csv"], "cannot be found"),
    "labels in an archive": (
        {"l.npz": archive(ids=np.arange(3))},
        ["--labels", "l.npz"],
        "or .npz or .h5ad for scores",
    ),
    "bytes that are not text": ({"main.csv": binary(b"id,score,x\n\xff\xfe,1,2\n")}, [], "cannot be read as csv"),
    "rows of different length": (
        {"main.csv": text('id,score,x\n"a\nb",1,2\nb,1,2,3,4\n')},
        [],
        "Line 3 of main.csv has 5 cells, but the header has 3; quote cells that hold ',', or correct the line.",
    ),
    "text in UTF-32": ({"main.csv": binary(PLAIN.encode("utf-32"))}, [], "is not text in UTF-8"),
    "thousands with underscores": (
        {"main.csv": text("id,score,x\na,1,2\nb,2,1_000\nc,3,4\n")},
        [],
        "holds '1_000' where numbers were expected",
    ),
    "text in UTF-16": ({"main.csv": binary(PLAIN.encode("utf-16"))}, [], "is not text in UTF-8"),
    "text in UTF-16 without a mark": ({"main.csv": binary(PLAIN.encode("utf-16-le"))}, [], "is not text in UTF-8"),
    "a hint to spreadsheets": (
        {"main.csv": text("sep=;\n" + PLAIN.replace(",", ";"))},
        [],
        "begins with a hint to spreadsheets",
    ),
    "an id in Latin-1": ({"main.csv": binary(PLAIN.replace("m1,", "mü1,").encode("latin-1"))}, [], "save it as UTF-8"),
    "a header in Latin-1": (
        {"main.csv": binary(PLAIN.replace("x1", "größe").encode("latin-1"))},
        [],
        "The first line of main.csv is not text in UTF-8",
    ),
    "missing values written as n/a": (
        {"main.csv": text(re.sub(r"(\nm1,[^,]+,)[^,]+", r"\1n/a", PLAIN))},
        [],
        "leave cells of missing values empty",
    ),
    "percentages with their sign": (
        {"main.csv": text(re.sub(r"(?m)^(m\d+,[^,]+)", r"\1%", PLAIN))},
        [],
        "without the % sign",
    ),
    "semicolons, and commas between thousands or before decimals": (
        {
            "main.csv": lambda path: MAIN.with_columns(
                pl.format("{},{}", pl.int_range(1, 61), pl.int_range(100, 160)).alias("x1")
            ).write_csv(path, separator=";")
        },
        [],
        "holds '1,100' where numbers were expected; correct it (numbers have a decimal point, and nothing between",
    ),
    "decimal commas, and dots between thousands": (
        {"main.csv": text(PLAIN.replace(",", ";").replace(".", ",").replace("-0,32210346660645733", "1.234,56"))},
        [],
        "Column 'x1' of main.csv holds '1.234,56' where numbers were expected; correct it (numbers have a decimal",
    ),
    "amounts in euros": (
        {"main.csv": frame(MAIN.with_columns(pl.format("{} \u20ac", pl.int_range(100, 160)).alias("x1")))},
        [],
        "Column 'x1' of main.csv holds '100 \u20ac' where numbers were expected; correct it, without the \u20ac sign.",
    ),
    "decimal commas and decimal points": (
        {
            "main.csv": lambda path: MAIN.with_columns(
                pl.col("score").cast(pl.String).str.replace(".", ",", literal=True)
            ).write_csv(path, separator=";")
        },
        [],
        "but points in numbers of 'x0'; write all numbers alike, and nothing between thousands.",
    ),
    "carriage returns alone": ({"main.csv": binary(PLAIN.replace("\n", "\r").encode())}, [], "carriage return alone"),
    "a quote that is not closed": ({"main.csv": text(PLAIN.replace("\nm1,", '\n"m1,'))}, [], "cannot be read as csv"),
    "blank lines alone": ({"main.csv": text("\n\n\n")}, [], "cannot be read as csv"),
    "blank lines between rows": ({"main.csv": text(PLAIN.replace("\nm5,", "\n\nm5,"))}, [], "no value in line 7;"),
    "no header": ({"main.csv": text(PLAIN.partition("\n")[2])}, [], "has no 'id' (it has: m0"),
    "a header in capitals": (
        {"main.csv": text(PLAIN.replace("score", "Score"))},
        [],
        "has no 'score' (it has: id, Sc",
    ),
    "two feature columns of one name": (
        {"main.csv": text(PLAIN.replace("x1", "x0", 1))},
        [],
        "two columns named 'x0'",
    ),
    "two id columns": ({"main.csv": text(PLAIN.replace("x1", "id", 1))}, [], "two columns named 'id'"),
    "two score columns": ({"main.csv": text(PLAIN.replace("x1", "score", 1))}, [], "two columns named 'score'"),
    "an id of more than 1,000 characters": (
        {"main.csv": text(PLAIN.replace("\nm5,", f"\n{'m' * 1001},"))},
        [],
        "Column 'id' of main.csv has an id of 1,001 characters, but at most 1,000 were expected; shorten it.",
    ),
    "ids that are large floats": (
        {"main.parquet": stored(MAIN.with_columns(id=np.arange(60.0) + 2.0**53), "parquet")},
        [],
        "holds 9007199254740992 as a float, but from 9007199254740992 on floats may be other ids, rounded",
    ),
    "ids that were written as large floats": (
        {"main.csv": frame(MAIN.with_columns(id=pl.Series(map(str, np.arange(60.0) + 2.0**53))))},
        [],
        "holds 9007199254740992 as a float, but from 9007199254740992 on floats may be other ids, rounded",
    ),
    "a header of more than 16 MiB": (
        {"main.csv": text(PLAIN.replace("x1", "x" * (16 << 20), 1))},
        [],
        "The first line of main.csv has more than 16 MiB, which is too long for a header",
    ),
    "a name of more than 131,072 characters": (
        {"main.csv": text(PLAIN.replace("x1", "x" * 131_073, 1))},
        [],
        "The first line of main.csv is not a header (field larger than field limit (131072)); save the table as CSV.",
    ),
    "columns without a name": (
        {"main.csv": text(PLAIN.replace("x1,x2", ",", 1))},
        [],
        "main.csv has 2 columns without a name; name them, or leave them out.",
    ),
    "the probability of one class as the score": (
        {"main.csv": frame(MAIN.select("id", p0=pl.col("x0").rank() / 99, p1=1 - pl.col("x0").rank() / 99))},
        ["--score", "p1", "--score", "score"],
        "In main.csv, 'p1' sums to 1 with 'p0' in every row, as probabilities of classes do; name all of them with "
        "--classes 'p(.*)', leave them out with --drop, or choose features with --features if these are meant.",
    ),
    "probabilities under other names than those of classes": (
        {
            "main.csv": frame(
                MAIN.with_columns(prob_a=0.5 * SHARE, prob_b=0.5 - 0.25 * SHARE, prob_c=0.5 - 0.25 * SHARE)
            )
        },
        ["--classes", "p_(.*)"],
        "In main.csv, 'prob_a', 'prob_b', 'prob_c' sum to 1 in every row, as probabilities of classes do, but "
        "--classes names none of its columns; let it name them, leave them out with --drop, or choose features with "
        "--features if these are meant.",
    ),
    "one row": ({"main.csv": frame(MAIN.head(1))}, [], "main has 1 row, but at least 3"),
    "two rows": ({"main.csv": frame(MAIN.head(2))}, [], "main has 2 rows, but at least 3"),
    "ids with blanks around them": (
        {"main.csv": text(PLAIN.replace("\nm5,", "\nm5 ,"))},
        [],
        "holds 'm5 ', but ids and names",
    ),
    "an id of blanks": (
        {"main.csv": text(PLAIN.replace("\nm5,", "\n  ,"))},
        [],
        "but ids and names must not be empty",
    ),
    "an empty id": ({"main.csv": text(PLAIN.replace("\nm5,", '\n"",'))}, [], "holds '', but ids and names"),
    "an id with a NUL": ({"main.csv": text(PLAIN.replace("\nm5,", "\nm5\0,"))}, [], "'m5\\x00', but ids and names"),
    "half a character in an id of an archive": (
        {"main.npz": archive(ids=np.array(["a\udcff", "b", "c"]), scores=np.arange(3.0))},
        [],
        "half a character in it; write it as UTF-8",
    ),
    "blanks around the ids of an archive": (
        {"main.npz": archive(ids=np.array(["a ", "b", "c"]), scores=np.arange(3.0))},
        [],
        "holds 'a ', but ids and names",
    ),
    "ids that are fractions": (
        {"main.parquet": stored(MAIN.with_columns(id=pl.int_range(60) + 0.5), "parquet")},
        [],
        "fractions, infinities or broken text",
    ),
    "ids that are lists": (
        {"main.parquet": stored(MAIN.with_columns(id=pl.concat_list("x0", "x1")), "parquet")},
        [],
        "not ids",
    ),
    "ids that are times with a zone": (
        {
            "main.parquet": stored(
                MAIN.with_columns(id=pl.datetime(2020, 1, pl.int_range(60) % 28 + 1, time_zone="America/New_York")),
                "parquet",
            )
        },
        [],
        "holds times with a time zone; write them as text",
    ),
    "truth values as ids": (
        {"main.parquet": stored(MAIN.with_columns(id=pl.int_range(60) > 5), "parquet")},
        [],
        "2 repeated values",
    ),
    "yes and no among features": (
        {"main.csv": frame(MAIN.with_columns(pl.lit("yes").alias("b")))},
        [],
        "holds 'yes' where numbers were expected",
    ),
    "a categorical column": (
        {"main.parquet": stored(MAIN.with_columns(pl.lit("red").cast(pl.Categorical).alias("c")), "parquet")},
        [],
        "encode categories as columns of 0 and 1",
    ),
    "a column of lists": (
        {"main.parquet": stored(MAIN.with_columns(pl.concat_list("x0", "x1").alias("c")), "parquet")},
        [],
        "where numbers were expected; correct it, and give each of its entries a column.",
    ),
    "a column of bytes": (
        {"main.parquet": stored(MAIN.with_columns(pl.lit(b"ab").alias("c")), "parquet")},
        [],
        "holds b'ab'",
    ),
    "a column with hardly a value": (
        {"main.parquet": stored(MAIN.with_columns(pl.when(pl.col("id") == "m5").then(1.0).alias("c")), "parquet")},
        [],
        "main has no number in 98% of column 'c'; fill it in, or refine again without the column (--drop)",
    ),
    "dates with the day first": (
        {"main.csv": frame(MAIN.with_columns(pl.lit("31.01.2020").alias("day")))},
        [],
        "holds '31.01.2020' where numbers were expected; correct it, give dates as days since a first day",
    ),
    "commas between thousands": (
        {"main.csv": frame(MAIN.with_columns(pl.lit("1,580.5").alias("x1")))},
        [],
        "(numbers have a decimal point, and nothing between thousands)",
    ),
    "a second table without its option": (
        {},
        ["reference.csv"],
        "Got unexpected extra argument(s) (reference.csv); give further tables with --reference; see",
    ),
    "what only a config says": (
        {},
        ["--seed", "1"],
        "There is no option --seed; set seed at the top of a TOML file, and give that with --config.",
    ),
    "a hyperparameter as an option": (
        {},
        ["--neighbours", "5"],
        "set neighbours in the table [method.diffusion] of a TOML file, and give that with --config.",
    ),
    "labels as a reference": (
        {"l.csv": frame(LABELS)},
        ["--reference", "l.csv"],
        "l.csv has no 'score' (it has: id, label); rename the column that holds it, or name it with --score, or name "
        "columns of class probabilities with --classes; if it holds labels, give it as --labels.",
    ),
    "dates of a day and month alone": (
        {"main.csv": frame(MAIN.with_columns(pl.lit("2 May").alias("day")))},
        [],
        "holds '2 May' where numbers",
    ),
    "dates": (
        {"main.parquet": stored(MAIN.with_columns(pl.lit(datetime.date(2020, 1, 31)).alias("day")), "parquet")},
        [],
        "Column 'day' of main.parquet holds '2020-01-31' where numbers were expected; correct it, give dates as days "
        "since a first day, or leave it out with --drop.",
    ),
    "a unit beside a number": ({"main.csv": text(PLAIN.replace("\nm5,", "\nm5,EUR "))}, [], "holds 'EUR "),
    "features out of the range of numbers": (
        {"main.csv": frame(MAIN.with_columns(pl.col("x0") * 1e308))},
        [],
        "leave the range of numbers",
    ),
    "half a Parquet file": ({"main.parquet": stored(MAIN, "parquet", damage=half)}, [], "cannot be read as parquet"),
    "a damaged Parquet file": (
        {"main.parquet": stored(MAIN, "parquet", damage=broken_foot)},
        [],
        "cannot be read as parquet",
    ),
    "half an Arrow file": ({"main.arrow": stored(MAIN, "arrow", damage=half)}, [], "cannot be read as arrow"),
    "a damaged Arrow file": ({"main.arrow": stored(MAIN, "arrow", damage=broken_foot)}, [], "cannot be read as arrow"),
    "CSV that is called Parquet": ({"main.parquet": text(PLAIN)}, [], "cannot be read as parquet"),
    "Parquet that is called CSV": ({"main.csv": stored(MAIN, "parquet")}, [], "is not text in UTF-8"),
    "JSON lines cut short": (
        {"main.jsonl": text('{"id": "a", "score": 1}\n{"id": "b",')},
        [],
        "cannot be read as jsonl",
    ),
    "JSON lines of lists": ({"main.jsonl": text("[1, 2]\n[2, 3]\n")}, [], "cannot be read as jsonl"),
    "one JSON list": ({"main.jsonl": text('[{"id": "a", "score": 1}]')}, [], "cannot be read as jsonl"),
    "NaN in JSON lines": (
        {"main.jsonl": text('{"id": "a", "score": 1}\n{"id": "b", "score": NaN}\n')},
        [],
        "and null where a number is missing",
    ),
    "objects among the features of JSON lines": (
        {"main.jsonl": text('{"id": "a", "score": 1, "x": {"y": 1}}\n{"id": "b", "score": 2, "x": {"y": 2}}\n')},
        [],
        "Column 'x' of main.jsonl holds '{\"y\":1}' where numbers",
    ),
    "objects as ids": (
        {"main.parquet": stored(MAIN.with_columns(id=pl.struct("id")), "parquet")},
        [],
        "column 'id' holds Struct({'id': String}), not ids",
    ),
    "arrays among the features of Parquet": (
        {
            "main.parquet": stored(
                MAIN.with_columns(x1=pl.Series([[1.0, 2.0]] * len(MAIN), dtype=pl.Array(pl.Float64, 2))), "parquet"
            )
        },
        [],
        "Column 'x1' of main.parquet holds",
    ),
    "text among the scores of JSON lines": (
        {"main.jsonl": text('{"id": "a", "score": 1}\n{"id": "b", "score": "high"}\n')},
        [],
        "holds 'high' where numbers",
    ),
    "scores missing in JSON lines": (
        {"main.jsonl": text('{"id": "a", "score": 1}\n{"id": "b"}\n')},
        [],
        "NaN or infinite score in line 2",
    ),
    "scores in two columns of an archive": (
        {"main.npz": archive(ids=np.arange(9), scores=np.ones((9, 2)))},
        [],
        "has scores of shape (9, 2) and no names of classes",
    ),
    "text as scores of an archive": (
        {"main.npz": archive(ids=np.arange(3), scores=np.array(["a", "b", "c"]))},
        [],
        "came as <U1, but numbers",
    ),
    "more ids than scores in an archive": (
        {"main.npz": archive(ids=np.arange(9), scores=np.arange(8.0))},
        [],
        "8 scores but 9 ids",
    ),
    "damaged annotated data": ({"main.h5ad": text("id,score\n")}, [], "cannot be read as annotated data"),
    "a folder as a table": ({"main.csv": lambda path: (path.unlink(), path.mkdir())}, [], "is a folder without files"),
    "a folder as the output": ({"o.csv": lambda path: path.mkdir()}, ["--out", "o.csv"], "Is a directory"),
    "the output over the main table": ({}, ["--out", "main.csv"], "is an input, which would be overwritten"),
    "the output over a hard link of the reference": (
        {"o.csv": lambda path: path.hardlink_to("reference.csv")},
        ["--out", "o.csv"],
        "o.csv is an input, which would be overwritten",
    ),
    "two outputs whose names differ in case": (
        {},
        ["--out", "o.npz", "--save", "O.npz"],
        "would be written twice",
    ),
    "the output over its features": (
        {
            "f.csv": lambda path: (np.save("f.npy", np.ones((60, 2))), path.symlink_to("f.npy")),
            "main.csv": frame(MAIN),
        },
        ["--reference", "reference.csv::f.npy", "--out", "f.csv"],
        "is an input, which would be overwritten",
    ),
    "a name that is not UTF-8": ({}, ["--reference", "b\udcff.csv"], "is not valid UTF-8; rename it"),
    "an output name that is not UTF-8": ({}, ["--out", "o\udcff.csv"], "is not valid UTF-8; rename it"),
    "an expression that is not UTF-8": ({}, ["--features", "x|\udcff"], "is not a regular expression"),
    "a folder where the record of the run goes": (
        {"out.run.toml": lambda path: path.mkdir()},
        [],
        "out.run.toml cannot be written (Is a directory)",
    ),
    "output and saved refinement in one file": ({}, ["--out", "o.npz", "--save", "o.npz"], "be written twice"),
    "one pair twice": ({"p.csv": text("main,reference\nm1,r50\nm1,r50\n")}, ["--pairs", "p.csv"], "twice"),
    "no pairs": ({"p.csv": text("main,reference\n")}, ["--pairs", "p.csv"], "p.csv has 0 pairs of reference, but at"),
    "a reference without pairs": (
        {
            "p.csv": text("main,reference,table\nm1,r50,reference\nm2,r51,reference\nm3,r52,reference\n"),
            "b.csv": frame(REFERENCE.with_columns(score=pl.col("score") ** 2)),
        },
        ["--reference", "b.csv", "--pairs", "p.csv"],
        "p.csv has 0 pairs of b, but at",
    ),
    "half a pair": ({"p.csv": text("main,reference\nm1,\n")}, ["--pairs", "p.csv"], "no value in line 2"),
    "pairs of another table": (
        {"p.csv": text("main,reference,table\nm1,r50,theirs\n"), "b.csv": frame(REFERENCE)},
        ["--reference", "b.csv", "--pairs", "p.csv"],
        "The column 'table' of p.csv names theirs, but",
    ),
    "labels of two kinds": (
        {"l.csv": text("id,label,better,worse\nm1,1,m1,m2\nm2,0,m3,m4\n")},
        ["--labels", "l.csv"],
        "leave one of both out",
    ),
    "a label above itself": ({"l.csv": text("better,worse\nm1,m1\n")}, ["--labels", "l.csv"], "above itself"),
    "no labels": ({"l.csv": text("better,worse\n")}, ["--labels", "l.csv"], "0 better and 0 worse ids"),
    "half an ordered pair": ({"l.csv": text("better,worse\nm1,\n")}, ["--labels", "l.csv"], "no value in line 2"),
    "two labels of one row": ({"l.csv": text("id,label\nm1,1\nm1,2\n")}, ["--labels", "l.csv"], "1 repeated value"),
    "an infinite label": (
        {"l.csv": text("id,label\nm1,1\nm2,inf\n")},
        ["--labels", "l.csv"],
        "NaN or infinite in line 3",
    ),
    "no label at all": ({"l.csv": text("id,label\nm1,\nm2,\n")}, ["--labels", "l.csv"], "has no value in 'label'"),
    "ordered pairs for a regression": (
        {"l.csv": text("better,worse\nm1,m2\n")},
        ["--labels", "l.csv", "--task", "regression"],
        "Ordered pairs came as labels of a regression",
    ),
    "an empty name of an option": (
        {},
        ["--labels", ""],
        "An empty text came after --labels, but a value was expected",
    ),
    "an empty value of an option": ({}, ["--features="], "An empty text came after --features, but a value"),
    "an unknown backend": ({}, ["--backend", "moon"], "backend='moon' came, but host, cuda"),
}

#: Odd input that is accepted: its files, further arguments, and what the warning contains, if there is one.
ACCEPTED = {
    "a number for a missing score": (
        {"main.csv": text(re.sub(r"\nm5,[^,]*,", "\nm5,9999,", PLAIN))},
        ["--same-target"],
        "the farthest of them 9999 of 'm5'",
    ),
    "a number for missing values of a feature": (
        {
            "main.csv": frame(
                MAIN.with_columns(
                    pl.when(pl.int_range(pl.len()) % 5 == 0).then(-999).otherwise(pl.col("x1")).alias("x1")
                )
            )
        },
        ["--same-target"],
        "are -999, far from all others",
    ),
    "a byte order mark": ({"main.csv": binary(b"\xef\xbb\xbf" + PLAIN.encode())}, [], ""),
    "semicolons": ({"main.csv": text(PLAIN.replace(",", ";"))}, [], ""),
    "semicolons and decimal commas": ({"main.csv": text(PLAIN.replace(",", ";").replace(".", ","))}, [], ""),
    "decimal commas, and a number with an exponent": (
        {
            "main.csv": text(
                PLAIN.replace("0.00046692439418305476", "4.6692439418305476e-04").replace(",", ";").replace(".", ",")
            )
        },
        [],
        "",
    ),
    "row numbers without a name": (
        {"main.csv": frame(MAIN.with_row_index("").select(*MAIN.columns[:2], "", *MAIN.columns[2:]))},
        [],
        "as the index of a data frame does, or hold nothing (one without a name); they are left out. Name them",
    ),
    "tabs": ({"main.csv": text(PLAIN.replace(",", "\t"))}, [], ""),
    "bars": ({"main.csv": text(PLAIN.replace(",", "|"))}, [], ""),
    "line ends of Windows": ({"main.csv": binary(PLAIN.replace("\n", "\r\n").encode())}, [], ""),
    "quotes around everything": (
        {"main.csv": text("\n".join(f'"{line}"'.replace(",", '","') for line in PLAIN.splitlines()))},
        [],
        "",
    ),
    "ids of bytes": ({"main.parquet": stored(MAIN.with_columns(pl.col("id").cast(pl.Binary)), "parquet")}, [], ""),
    "categorical ids": (
        {"main.parquet": stored(MAIN.with_columns(pl.col("id").cast(pl.Categorical)), "parquet")},
        [],
        "",
    ),
    "scores with blanks around them": ({"main.csv": text(PLAIN.replace("\nm5,", "\nm5, "))}, [], ""),
    "labels that go in a circle": (
        {"l.csv": text("better,worse\nm1,m2\nm2,m3\nm3,m1\n")},
        ["--labels", "l.csv"],
        "The labels go in a circle",
    ),
    "the truth as a feature": (
        {"l.csv": frame(MAIN.select("id", label="x1").head(40))},
        ["--labels", "l.csv"],
        "The feature 'x1' of main says the label of all 40 labelled rows",
    ),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    MAIN.write_csv(tmp_path / "main.csv")
    REFERENCE.write_csv(tmp_path / "reference.csv")
    LABELS.write_csv(tmp_path / "labels.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refuse(arguments, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code, capsys.readouterr()


@pytest.mark.parametrize("name", CASES)
def test_each_is_refused_in_one_sentence(name, folder, monkeypatch, capsys):
    files, more, says = CASES[name]
    for file, write in files.items():
        write(folder / file)
    main = more if isinstance(more, str) else next((f for f in files if f.startswith("main")), "main.csv")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    options = [] if isinstance(more, str) else more
    out = [] if "--out" in options else ["--out", "out.csv"]
    arguments = ["refine", main, "--reference", "reference.csv", *out, *options]
    status, output = refuse(arguments, monkeypatch, capsys)
    assert status == 2
    assert output.out == ""
    sentence = sentence_of(output.err)
    assert says in sentence
    assert re.fullmatch(f"manifuse: {sentence_on_page(name)}", sentence)
    assert sentence.endswith(".")
    assert "Traceback" not in sentence
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ACCEPTED)
def test_each_is_accepted(name, folder, monkeypatch, capsys):
    plain = ["refine", "main.csv", "--reference", "reference.csv", "--out", "plain.csv"]
    assert refuse(plain, monkeypatch, capsys)[0] == 0
    files, more, says = ACCEPTED[name]
    for file, write in files.items():
        write(folder / file)
    main = next((f for f in files if f.startswith("main")), "main.csv")
    arguments = ["refine", main, "--reference", "reference.csv", "--out", "out.csv", *more]
    with warnings.catch_warnings():
        warnings.simplefilter("always", ManifuseWarning)
        status, output = refuse(arguments, monkeypatch, capsys)
    assert status == 0
    printed = " ".join(output.err.split())
    assert says in printed
    assert re.search(sentence_on_page(name), printed)
    if not more:
        assert (folder / "out.csv").read_bytes() == (folder / "plain.csv").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["refine", "main.csv", "--reference", "gone.csv", "--out", "out.csv"],
        ["apply", "gone.csv", "main.csv", "--out", "out.csv"],
        ["compare", "gone.csv", "--labels", "labels.csv"],
        ["show", "gone.csv"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_refusal_is_an_object_for_programs(arguments, folder, monkeypatch, capsys):
    status, output = refuse([*arguments, "--json"], monkeypatch, capsys)
    assert status == 2
    said = json.loads(output.out)
    assert said == {"status": 2, "error": said["error"]}
    assert "gone.csv" in said["error"]
    assert sentence_of(output.err) == f"manifuse: {said['error']}"


def test_truth_values_are_numbers(tmp_path):
    from manifuse.tables.formats import open_columns

    pl.DataFrame({"id": ["a"], "yes": [True]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("id,yes\na,true\n")
    for ending in ("parquet", "csv"):
        file = open_columns(tmp_path / f"a.{ending}")
        assert file.take(list(file.types))["yes"].tolist() == [1.0]


@pytest.mark.parametrize("kind", ["days", "hours", "zone", "time", "lasts", "text"])
def test_dates_times_and_durations_are_no_features(kind, tmp_path, monkeypatch, capsys):
    hour = datetime.datetime(2020, 1, 31, 12)
    day = pl.lit(
        {"days": hour.date(), "time": hour.time(), "lasts": hour - hour, "text": "2020-01-31T12:00Z"}.get(kind, hour)
    )
    day = day.dt.replace_time_zone("UTC") if kind == "zone" else day
    MAIN.with_columns(day.alias("when")).write_parquet(tmp_path / "main.parquet")
    REFERENCE.write_csv(tmp_path / "reference.csv")
    arguments = ["refine", str(tmp_path / "main.parquet"), "--reference", str(tmp_path / "reference.csv")]
    status, output = refuse([*arguments, "--out", str(tmp_path / "o.csv")], monkeypatch, capsys)
    assert status == 2
    assert "Column 'when' of" in sentence_of(output.err)
    assert ("give dates as days since a first day" in sentence_of(output.err)) == (kind not in ("time", "lasts"))


def test_the_page_for_readers_has_every_case_and_no_other():
    from tests.cli.test_config import REFUSED
    from tests.cli.test_hostile_files import HOSTILE
    from tests.cli.test_trouble import TROUBLE

    rows = rows_of_page()
    said = {case: (int(status), sentence) for case, status, sentence in rows}
    expected = {
        **{name: (2, says) for name, (_, _, says) in CASES.items()},
        **{name: (0, says) for name, (_, _, says) in ACCEPTED.items()},
        **TROUBLE,
        **{name: (2, says) for name, (_, _, says) in HOSTILE.items()},
        **{f"`{text}`".replace("\n", " ").replace("|", "\\|"): (2, says) for text, says in REFUSED},
    }
    assert said.keys() == expected.keys()
    assert len(said) == len(rows) >= 60
    for name, (status, says) in expected.items():
        assert said[name][0] == status, name
        assert says in said[name][1], name


@pytest.mark.parametrize(
    "arguments", [["refine"], ["refine", "main.csv"], ["reform"], ["refine", "main.csv", "--report"]]
)
def test_arguments_that_do_not_parse_leave_with_status_two(arguments, folder, monkeypatch, capsys):
    assert refuse(arguments, monkeypatch, capsys)[0] == 2


def test_a_program_reads_why_arguments_do_not_parse(folder, monkeypatch, capsys):
    arguments = ["refine", "main.csv", "--refrence", "reference.csv", "--json"]
    status, printed = refuse(arguments, monkeypatch, capsys)
    said = json.loads(printed.out)
    assert status == said["status"] == 2
    assert said["error"].startswith("No such option: --refrence (Possible options:")
    assert said["error"].endswith("see 'manifuse refine --help'.")


def test_few_pairs_and_a_constant_reference_warn_and_go_on(folder):
    few = draw(0, rows=60, pairs=6, references=1)
    table(few.main).write_csv("main.csv")
    table(few.references[0]).write_csv("reference.csv")
    table(remade(few.references[0], predictions=np.ones(60))).write_csv("constant.csv")
    files = ["main.csv", "--reference", "reference.csv", "--reference", "constant.csv"]
    command = [sys.executable, "-m", "manifuse", "refine", *files, "--out", "out.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    message = " ".join(done.stderr.split())
    assert "shares only 6 ids" in message
    assert "All scores of constant are equal; it gets weight 0." in message
    assert (folder / "out.csv").exists()


def test_an_interrupted_write_leaves_the_old_file_and_no_other(folder):
    from manifuse.files import write_whole

    (folder / "out.csv").write_text("precious")

    def broken(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(app.InputError, match="No space left on device"):
        write_whole(folder / "out.csv", broken)
    assert (folder / "out.csv").read_text() == "precious"
    assert sorted(path.name for path in folder.iterdir()) == ["labels.csv", "main.csv", "out.csv", "reference.csv"]


def test_what_is_written_together_is_there_whole_or_not_at_all(folder):
    from manifuse.files import write_together

    def broken(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(app.InputError, match=r"b\.csv cannot be written"):
        write_together({folder / "a.csv": lambda path: path.write_text("whole"), folder / "b.csv": broken})
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_if_the_last_file_cannot_get_its_name_the_others_get_theirs_back(folder, monkeypatch, links):
    from manifuse.files import write_together

    (folder / "old.csv").write_text("old")
    (folder / "last.csv").write_text("last")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    replace = Path.replace

    def refuse(path, to):
        if path.suffix == ".csv" and to.name == "last.csv":
            raise PermissionError(1, "Operation not permitted")
        return replace(path, to)

    def no_links(path, to):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(Path, "replace", refuse)
    if not links:
        monkeypatch.setattr(Path, "hardlink_to", no_links)
    names = ("old.csv", "new.csv", "last.csv")
    with pytest.raises(app.InputError, match=r"last\.csv cannot be written \(Operation not permitted\)"):
        write_together({folder / name: lambda path: path.write_text("whole") for name in names})
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    monkeypatch.undo()
    write_together({folder / name: lambda path: path.write_text("whole") for name in names})
    assert {path.name for path in folder.iterdir()} == {*before, "new.csv"}
    assert {(folder / name).read_text() for name in names} == {"whole"}


def test_a_file_in_the_middle_that_cannot_be_replaced_ends_in_a_sentence_too(folder, monkeypatch):
    from manifuse.files import write_together

    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("old")
    before = {path.name: path.read_text() for path in folder.iterdir()}
    replace = Path.replace

    def refuse(path, to):
        if to.name == "b.csv":
            raise PermissionError(1, "Operation not permitted")
        return replace(path, to)

    def no_links(path, to):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "hardlink_to", no_links)
    with pytest.raises(app.InputError, match=r"b\.csv cannot be written"):
        write_together({folder / name: lambda path: path.write_text("whole") for name in ("a.csv", "b.csv", "c.csv")})
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_an_interrupt_after_the_last_file_has_its_name_undoes_nothing(folder, monkeypatch):
    from manifuse.files import write_together

    replace = Path.replace

    def late(path, to):
        replace(path, to)
        if to.name == "b.csv":
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", late)
    with pytest.raises(KeyboardInterrupt):
        write_together({folder / name: lambda path: path.write_text("whole") for name in ("a.csv", "b.csv")})
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text() == "whole"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_file_given_twice_is_refused(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "copy.csv").write_bytes((folder / "reference.csv").read_bytes())
    for other, says in {"./reference.csv": "was given twice", "copy.csv": "have the same scores of the same"}.items():
        monkeypatch.setattr(
            "sys.argv",
            ["manifuse", "refine", "main.csv", "--reference", "reference.csv", "--reference", other, "--out", "o.csv"],
        )
        with pytest.raises(SystemExit) as left:
            app.main()
        assert left.value.code == 2
        assert says in " ".join(capsys.readouterr().err.split())
        assert not (folder / "o.csv").exists()


def test_a_link_stays_one_and_rights_stay_as_they_were(folder):
    from manifuse.files import write_whole

    (folder / "elsewhere").mkdir()
    kept = folder / "elsewhere" / "kept.csv"
    kept.write_text("old")
    kept.chmod(0o640)
    (folder / "out.csv").symlink_to(kept)
    write_whole(folder / "out.csv", lambda path: path.write_text("new"))
    assert (folder / "out.csv").is_symlink()
    assert kept.read_text() == "new"
    assert kept.stat().st_mode & 0o777 == 0o640


def test_content_is_on_the_disk_before_the_file_gets_its_name(folder, monkeypatch):
    from manifuse import files

    steps = []
    replace = Path.replace
    monkeypatch.setattr(files.os, "fsync", lambda handle: steps.append(os.fstat(handle).st_size))
    monkeypatch.setattr(Path, "replace", lambda path, to: (steps.append("name"), replace(path, to)))
    files.write_whole(folder / "out.csv", lambda path: path.write_text("whole"))
    assert steps == [5, "name"]


def test_a_table_replaces_the_old_one_in_one_move(folder):
    from tests.problems import write_table

    os.link(folder / "main.csv", folder / "kept.csv")
    write_table(folder / "main.csv", {"id": np.array(["a"])})
    # If the file were written in place, the second name of the old file would show the new content.
    assert pl.read_csv(folder / "kept.csv").height == 60
    assert pl.read_csv(folder / "main.csv").height == 1


def test_help_and_version_answer(monkeypatch, capsys):
    import manifuse

    status, (said, _) = refuse(["--version"], monkeypatch, capsys)
    assert (status, said.partition("\n")[0]) == (0, f"manifuse {manifuse.__version__}")
    assert f"numpy {np.__version__}" in said.splitlines()
    for command in ("refine", "demo"):
        status, output = refuse([command, "--help"], monkeypatch, capsys)
        assert status == 0
        assert "Usage" in output.out


def test_lists_in_sentences_are_cut_between_names():
    names = [f"column{number}" for number in range(40)]
    said = shorten(", ".join(names))
    assert said.endswith("...")
    assert len(said) <= 163
    assert {*said.removesuffix("...").split(", ")} < {*names}
    # One long word has no place between words.
    assert shorten("No " + "x" * 300) == "No " + "x" * 157 + "..."
    assert shorten("short. ") == "short"


def test_the_page_for_readers_has_every_code_of_a_warning():
    page = (Path(__file__).parents[2] / "docs" / "bad-input.md").read_text()
    source = "\n".join(file.read_text() for file in Path(app.__file__).parents[1].rglob("*.py"))
    codes = set(re.findall(r'\bwarn\(\s*"(\w+)"', source))
    assert len(codes) > 20
    assert re.findall(r"^\| `(\w+)` \| [^`|]+ \|$", page, re.MULTILINE) == sorted(codes)
