"""Reading by polars: one sentence for a damaged file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import manifuse as mf
from manifuse.tables.paths import reading
from manifuse.tables.score_tables import read_table


@pytest.mark.parametrize("form, draws", [("arrow", 250), ("parquet", 250)])
def test_of_a_damaged_file_a_sentence_is_said(form, draws, tmp_path):
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


def test_a_panic_becomes_a_sentence(tmp_path):
    panic = type("PanicException", (BaseException,), {})

    def read():
        with reading(tmp_path / "main.parquet"):
            raise panic("range end index out of range")

    with pytest.raises(mf.InputError, match=r"main\.parquet cannot be read as parquet, because it is damaged"):
        read()


def test_an_interrupt_is_no_damage():
    def read():
        with reading(Path("main.parquet")):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read()
