"""Reading by polars: one sentence for a damaged file, and nothing that the engine prints beside it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import polars as pl
import pytest

import manifuse as mf
from manifuse.tables.score_tables import read_table
from manifuse.tables.table_reading import reading_table


@pytest.mark.parametrize("form, draws", [("arrow", 250), ("parquet", 250)])
def test_of_a_damaged_file_nothing_is_said_but_a_sentence(form, draws, tmp_path, capfd):
    rng = np.random.default_rng(0)
    path, numbers = tmp_path / f"main.{form}", rng.standard_normal((200, 2))
    frame = pl.DataFrame({"id": [f"m{k}" for k in range(200)], "score": numbers[:, 0], "x": numbers[:, 1]})
    frame.write_ipc(path) if form == "arrow" else frame.write_parquet(path)
    whole, refused = path.read_bytes(), []
    for _ in range(draws):
        damaged = bytearray(whole)
        for place in len(damaged) - 1 - rng.integers(600, size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            assert np.shape(read_table(str(path)).features) == (200, 1)
        except mf.InputError as error:
            refused.append(str(error))
    assert len(refused) > draws / 4
    assert not any("\n" in sentence for sentence in refused)
    assert capfd.readouterr().err == ""


def test_a_panic_becomes_a_sentence_without_its_pages(tmp_path, capfd):
    panic = type("PanicException", (BaseException,), {})

    def read():
        with reading_table(tmp_path / "main.parquet"):
            os.write(2, b"thread panicked at main.rs\nstack backtrace:\n")
            raise panic("range end index out of range")

    with pytest.raises(mf.InputError, match=r"main\.parquet cannot be read as parquet, because it is damaged"):
        read()
    assert capfd.readouterr().err == ""


def test_what_is_printed_while_tables_are_read_in_threads_comes_out_afterwards(capfd):
    together = Barrier(4)

    def read(number):
        with reading_table(Path("main.parquet")):
            together.wait()
            sys.stderr.write(f"said {number}\n")
            together.wait()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))
    sys.stderr.write("said later\n")
    said = capfd.readouterr().err.split("\n")
    assert sorted(said[:4]) == [f"said {number}" for number in range(4)]
    assert said[4:] == ["said later", ""]


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_tables_are_read_where_standard_error_cannot_be_written(redirected, tmp_path):
    pl.DataFrame({"id": ["a", "b", "c"], "score": [1.0, 2.0, 3.0]}).write_parquet(tmp_path / "main.parquet")
    lines = [
        "import sys",
        "from pathlib import Path",
        "from manifuse.tables.score_tables import read_table",
        "from manifuse.tables.table_reading import reading_table",
        "with reading_table(Path('main.parquet')):",
        "    sys.stderr and sys.stderr.write('said')",
        "print(len(read_table('main.parquet')))",
    ]
    command = ["sh", "-c", f'exec "$0" -c "$1" {redirected}', sys.executable, "\n".join(lines)]
    assert subprocess.run(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False).stdout == "3\n"


def test_an_interrupt_is_no_damage():
    def read():
        with reading_table(Path("main.parquet")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read()
