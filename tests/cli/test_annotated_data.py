"""Annotated data (``.h5ad``) as tables of the command line."""

import sys
from contextlib import suppress

import anndata
import h5py
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app
from manifuse.errors import MissingExtraError
from manifuse.tables import paths
from manifuse.tables.score_tables import read_table


@pytest.fixture
def case():
    return draw(0, references=1)


def write(path, table, *, score="score", **entries):
    """Write a table as annotated data, with a matrix that must not be read."""
    names = pd.Index(table.keys.tolist())
    batch = pd.Categorical(["first"] * len(table))
    cells = anndata.AnnData(
        X=np.full((len(table), 2), np.nan, dtype=np.float32),
        obs=pd.DataFrame({score: table.scores, "batch": batch}, index=names),
    )
    for name, features in entries.items():
        cells.obsm[name] = features(table.table, names)
    with anndata.settings.override(allow_write_nullable_strings=True):
        cells.write_h5ad(path)


def plain(features, names):
    del names
    return features


def sparse(features, names):
    del names
    return csr_array(features)


def framed(features, names):
    return pd.DataFrame(features, index=names, columns=[f"x{place}" for place in range(features.shape[1])])


@pytest.mark.parametrize("form", [plain, sparse, framed])
def test_the_result_is_that_of_the_same_tables(case, form, tmp_path, monkeypatch):
    write(tmp_path / "main.h5ad", case.main, X_pca=form)
    write(tmp_path / "other.h5ad", case.references[0], X_umap=lambda features, _: features[:, :2], X_lsi=form)
    monkeypatch.chdir(tmp_path)
    command = ["manifuse", "refine", "main.h5ad", "--reference", "other.h5ad::X_lsi", "--out", "out.csv"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        app.main()
    assert left.value.code == 0
    out = pl.read_csv("out.csv")
    assert out["id"].to_list() == case.main.keys.tolist()
    np.testing.assert_allclose(out["score"], mf.refine(case.main, case.references, rng=0).predictions, rtol=1e-9)


def test_without_entries_there_are_no_features(case, tmp_path):
    write(tmp_path / "main.h5ad", case.main)
    assert read_table(str(tmp_path / "main.h5ad")).features is None


@pytest.mark.parametrize("kind", ["boolean", "Int64"])
def test_scores_of_pandas_may_have_gaps(case, kind, tmp_path):
    path = tmp_path / "main.h5ad"
    write(path, case.main)
    cells = anndata.read_h5ad(path)
    cells.obs["score"] = pd.Series([1, 0, None] * 53 + [1], index=cells.obs_names, dtype=kind)
    cells.write_h5ad(path)
    np.testing.assert_array_equal(read_table(str(path)).scores[:4], [1.0, 0.0, np.nan, 1.0])


@pytest.mark.parametrize(
    "given, message",
    [
        ("two.h5ad", "obsm: X_lsi, X_pca; name the one"),
        ("two.h5ad::X_mca", "obsm: X_lsi, X_pca, and not .X_mca.; name the one"),
        ("none.h5ad::X_pca", "obsm: none"),
        ("unscored.h5ad", "no 'score' .it has: course, batch."),
        ("absent.h5ad", "is not there"),
        ("empty.h5ad", "is empty"),
        ("broken.h5ad", "cannot be read as annotated data"),
        ("cut.h5ad", "cannot be read as annotated data"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_sentence(case, given, message, tmp_path):
    write(tmp_path / "two.h5ad", case.main, X_pca=plain, X_lsi=plain)
    write(tmp_path / "none.h5ad", case.main)
    write(tmp_path / "unscored.h5ad", case.main, score="course")
    whole = (tmp_path / "two.h5ad").read_bytes()
    for name, content in {"empty": b"", "broken": b"id,score\na,1\n", "cut": whole[: len(whole) // 2]}.items():
        (tmp_path / f"{name}.h5ad").write_bytes(content)
    with pytest.raises(mf.InputError, match=message):
        read_table(str(tmp_path / given))


@pytest.mark.parametrize("form", ["packed", "sparse"])
def test_what_is_larger_than_memory_is_refused_before_it_is_read(case, form, tmp_path, monkeypatch):
    write(tmp_path / "main.h5ad", case.main, X_pca=sparse if form == "sparse" else plain)
    rows = len(case.main)
    with h5py.File(tmp_path / "main.h5ad", "a") as file:
        if form == "sparse":
            file["obsm/X_pca"].attrs["shape"] = (rows, 10**9)
        else:
            del file["obsm/X_pca"]
            # No chunk is ever written, so the file has only a few kB.
            file.create_dataset("obsm/X_pca", shape=(rows, 10**9), chunks=(1, 10**6), dtype="f8", compression="gzip")
    monkeypatch.setattr(paths, "available_memory", lambda: 16_000_000_000)
    monkeypatch.setattr(anndata, "read_h5ad", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(mf.InputError, match=r"takes about 1280\.0 GB, but 16\.0 GB of memory are free"):
        read_table(str(tmp_path / "main.h5ad"))


def test_any_damage_ends_in_a_sentence_or_in_a_table(case, tmp_path, rng):
    write(tmp_path / "main.h5ad", case.main, X_pca=plain)
    whole = np.fromfile(tmp_path / "main.h5ad", dtype=np.uint8)
    for _ in range(40):
        damaged = whole.copy()
        damaged[rng.integers(len(whole), size=30)] ^= rng.integers(1, 256, size=30, dtype=np.uint8)
        damaged.tofile(tmp_path / "damaged.h5ad")
        with suppress(mf.InputError):
            read_table(str(tmp_path / "damaged.h5ad"))


def test_columns_are_not_chosen_among_entries(case, tmp_path):
    write(tmp_path / "main.h5ad", case.main, X_pca=plain)
    with pytest.raises(mf.InputError, match="::ENTRY"):
        read_table(str(tmp_path / "main.h5ad"), features="X")


def test_without_anndata_the_sentence_says_how_to_get_it(case, tmp_path, monkeypatch):
    write(tmp_path / "main.h5ad", case.main)
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(MissingExtraError, match=r"manifuse\[anndata\]"):
        read_table(str(tmp_path / "main.h5ad"))


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("options", [(), ("--drop", "x1"), ("--features", "x[0-2]")])
def test_columns_of_an_entry_follow_the_rules_for_columns_of_files(case, options, tmp_path, monkeypatch, capsys):
    """What is called like the label is no feature, nor is an index; others are chosen, left out or warned of."""
    monkeypatch.chdir(tmp_path)
    rows = len(case.main)

    def named(features, names):
        more = {"index": range(rows), "label": case.truth, "patient_id": range(0, 3 * rows, 3)}
        return framed(features, names).assign(**more)

    write("ours.h5ad", case.main, X=named)
    ids = pl.DataFrame({"id": case.main.keys, "score": case.main.scores})
    ids.hstack(pl.DataFrame(named(case.main.table, range(rows)))).write_csv("ours.csv")
    theirs, labels = case.references[0], case.labels()
    pl.DataFrame({"id": theirs.keys, "score": theirs.scores, "x0": theirs.table[:, 0]}).write_csv("theirs.csv")
    pl.DataFrame({"id": labels.keys, "label": labels.grades}).write_csv("known.csv")
    found = []

    def run(name, *command):
        monkeypatch.setattr(sys, "argv", ["manifuse", *command])
        with pytest.raises(SystemExit) as left:
            app.main()
        said = capsys.readouterr().err.replace(name, "FILE")
        assert left.value.code == 0, said
        return said

    for name in ("ours.csv", "ours.h5ad"):
        given = (name, "--reference", "theirs.csv", "--labels", "known.csv", "--save", "model.npz", *options)
        said = run(name, "refine", *given, "--out", "out.csv")
        found.append((said, pl.read_csv("out.csv")["score"]))
        run(name, "apply", "model.npz", name, "--strict", "--out", "night.csv")
    assert found[0][0] == found[1][0]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-9)
    assert ("left out" in said, "patient_id" in said) == (options[:1] != ("--features",),) * 2
