"""Small files that would eat the memory: each is refused in one sentence, by a process that may take 3 GiB.

All processes are forked from one, because a start takes longer than most refusals.
"""

import io
import json
import re
import resource
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.printed import sentence_of, sentence_on_page

from manifuse.errors import InputError
from manifuse.tables import archives, paths
from manifuse.tables.formats import open_columns

#: Addresses that a process may have. An ordinary run takes half of them, mostly without using them.
MOST = 3 << 30

ROWS = 300_000
REFERENCE = "id,score\n" + "\n".join(f"m{row},{row % 7}" for row in range(60))

#: Runs the command on the file of each folder that is named. Each run has a process of its own, forked from one that
#: has imported the command; what it says is written beside its folder. Prints the exit statuses as JSON.
CODE = """
import json, os, sys
import manifuse.cli.refine_command
from manifuse.cli.app import main

statuses = []
for folder, file in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open(f"{folder}.said", os.O_CREAT | os.O_WRONLY), 2)
        sys.argv = ["manifuse", "refine", "--reference", "reference.csv", "--out", "out.parquet", file]
        main()
        os._exit(0)
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(statuses))
"""


def whole(path):
    """Read every column of a table."""
    file = open_columns(path)
    return file.take(list(file.types))


def columns(**more):
    rows = len(next(iter(more.values())))
    return pl.DataFrame({"id": [f"m{row}" for row in range(rows)], "score": np.arange(float(rows))} | more)


def equal_text(column, rows):
    """What writes a Parquet table whose ``column`` holds the same 100,000 characters in each row."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a" * 100_000]))
    table = columns(x=np.arange(float(rows))).to_arrow()
    table = pa.table({**dict(zip(table.column_names, table.columns, strict=True)), column: text})
    # Without its schema, the column is plain text.
    return lambda path: pyarrow.parquet.write_table(table, path, store_schema=False)


def head(dtype, *shape):
    """The first bytes of a file of one array."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": dtype, "fortran_order": False, "shape": shape})
    return content.getvalue()


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)


def ids_of(dtype, rows):
    return lambda path: archive(path, ids=head(dtype, rows), scores=head("<f8", 60) + bytes(480))


def one_byte_features(path):
    archive(path, ids=head("<i8", 60) + bytes(480), scores=head("<f8", 60) + bytes(480), features=FEATURES)


FEATURES = head("|u1", 60, 3_000_000) + bytes(180_000_000)
NAMES = [f"x{number}" for number in range(10_000)]

#: For each case: the file, what writes it, and what is said.
HOSTILE = {
    "equal ids of 100,000 characters": (
        "main.parquet",
        equal_text("id", 10_000),
        "has an id of 100,000 characters, but at most 1,000 were expected",
    ),
    "one long id among many short ones": (
        "main.parquet",
        lambda path: columns(id=["b" * 900, *(f"m{row}" for row in range(1, ROWS))]).write_parquet(path),
        "takes 1.1 GB with all ids as wide as the longest (900 characters), which is more than 8 times their text",
    ),
    "a feature of long text": (
        "main.parquet",
        equal_text("note", 20_000),
        "Column 'note' of main.parquet holds 'aaaaaaaaaaaa...aaaaaaaaaaaaa' where numbers were expected",
    ),
    "ids without characters in an archive": (
        "main.npz",
        ids_of("<U0", 200_000_000),
        "cannot be read as a NumPy archive (entries of type <U0 have no bytes)",
    ),
    "an archive that promises more than it has": (
        "main.npz",
        ids_of("<i8", 10**12),
        "cannot be read as a NumPy archive (8,000,000,000,000 bytes were promised and 128 are there)",
    ),
    "an archive of features that are all zero": (
        "main.npz",
        one_byte_features,
        "main.npz packs 0.2 GB into 0.2 MB, as no measurements can be; save it",
    ),
    "rows of two cells below ten thousand columns": (
        "main.csv",
        lambda path: path.write_text(",".join(["id", "score", *NAMES]) + "\n" + "m,1\n" * 40_000),
        "has 10,002 columns, but 2.2 cells in a row on average; give each row a cell for every column",
    ),
    "JSON lines of two cells after one of ten thousand": (
        "main.jsonl",
        lambda path: path.write_text(
            "{" + ",".join(f'"{name}":1' for name in ["id", "score", *NAMES]) + "}\n" + '{"id":1,"score":1}\n' * 40_000
        ),
        "has 10,002 columns, but 3.2 cells in a row on average; give each row a cell for every column",
    ),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """How the command ended on every hostile file: its status, what it said, and the files that are there."""
    folders = [tmp_path_factory.mktemp("hostile") for _ in HOSTILE]
    for folder, (file, write, _) in zip(folders, HOSTILE.values(), strict=True):
        write(folder / file)
        (folder / "reference.csv").write_text(REFERENCE)
    jobs = [(str(folder), file) for folder, (file, _, _) in zip(folders, HOSTILE.values(), strict=True)]
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(jobs)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST)),
    )
    said = [folder.with_suffix(".said").read_text() for folder in folders]
    there = [{path.name for path in folder.iterdir()} for folder in folders]
    return dict(zip(HOSTILE, zip(json.loads(done.stdout), said, there, strict=True), strict=True))


@pytest.mark.parametrize("name", HOSTILE)
def test_each_is_refused_in_one_sentence(name, ended):
    file, _, says = HOSTILE[name]
    status, said, files = ended[name]
    assert status == 2, said
    # What was read may be announced before.
    sentence = sentence_of(said[said.index("manifuse: ") :])
    assert says in sentence
    assert re.search(f"manifuse: {sentence_on_page(name)}$", sentence)
    assert sentence.endswith(".")
    assert files == {file, "reference.csv"}


@pytest.mark.parametrize("name", ["id", "note"])
def test_long_text_is_refused_before_all_of_it_is_read(name, tmp_path):
    long = pl.DataFrame({name: [f"{row}" + "a" * 2000 for row in range(1000)]})
    long.write_parquet(tmp_path / "a.parquet")
    file, read = open_columns(tmp_path / "a.parquet"), []
    seen = replace(file, read=lambda names, first, count: read.append(count) or file.read(names, first, count))
    with pytest.raises(InputError, match="were expected"):
        seen.take([name]) if name == "id" else seen.take_matrix([name])
    assert read == [64]


@pytest.mark.parametrize("dtype, taken", [("u1", 9), ("f2", 10), ("f4", 8), ("f8", 8), ("U3", 20)])
@pytest.mark.parametrize("ending", ["npz", "npy"])
def test_arrays_are_counted_with_eight_bytes_a_number(ending, dtype, taken, tmp_path, monkeypatch):
    path, rows = tmp_path / f"a.{ending}", 1000
    read = {"npz": archives.read_archive, "npy": archives.read_features}[ending]
    {"npz": np.savez, "npy": np.save}[ending](path, np.ones(rows, dtype))
    monkeypatch.setattr(paths, "available_memory", lambda: taken * rows)
    read(path)
    monkeypatch.setattr(paths, "available_memory", lambda: taken * rows - 1)
    with pytest.raises(InputError, match="use a part of the file"):
        read(path)


def test_text_is_counted_by_its_cells(tmp_path, monkeypatch):
    rows, width = 2000, 60
    names = ",".join(["id", *(f"x{number}" for number in range(width))])
    for digits in (1, 18):
        line = ",".join(["7" * digits] * (width + 1))
        path = tmp_path / f"{digits}.csv"
        path.write_text("\n".join([names, *[line] * rows]))
        # Reading takes the file twice, and every number in its column and in the array.
        needed = 2 * path.stat().st_size + rows * (16 * (width + 1) + 200)
        monkeypatch.setattr(paths, "available_memory", lambda needed=needed: needed)
        assert len(whole(path)) == width + 1
        monkeypatch.setattr(paths, "available_memory", lambda needed=needed: needed - 1)
        with pytest.raises(InputError, match="use a part of the file"):
            whole(path)
