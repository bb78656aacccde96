"""Annotated data (``.h5ad``) of classifiers: probabilities are a data frame in ``obsm``."""

import sys

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.test_classes import NAMES, draw

import manifuse as mf
from manifuse.cli import app

REFINE = ("refine", "ours.h5ad::X_pca", "--reference", "theirs.h5ad::X_pca", "--classes", "cell_type")


def cells_of(table, names):
    """A classifier as annotated data, with a matrix that must not be read."""
    index = pd.Index(names)
    cells = anndata.AnnData(X=np.full((len(table), 2), np.nan, dtype=np.float32), obs=pd.DataFrame(index=index))
    cells.obsm["X_pca"], cells.obsm["X_umap"] = table.table, table.table[:, :2]
    cells.obsm["cell_type"] = pd.DataFrame(table.came, index=index, columns=list(table.classes.names))
    return cells


def write(path, table, names=None, **entries):
    cells = cells_of(table, table.keys.tolist() if names is None else names)
    for name, entry in entries.items():
        cells.obsm[name] = entry
    with anndata.settings.override(allow_write_nullable_strings=True):
        cells.write_h5ad(path)


@pytest.fixture
def problem(tmp_path, monkeypatch):
    """Two classifiers and labels in files, and in memory."""
    monkeypatch.chdir(tmp_path)
    main, (other, *_), labels, _, _ = draw(2, labels=60)
    write("ours.h5ad", main)
    write("theirs.h5ad", other)
    pl.DataFrame({"id": labels.keys, "label": labels.names}).write_csv("known.csv")
    return main, other, labels


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code or 0


def test_classes_that_are_called_like_columns_of_the_output_have_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ("support", "original", "id", "yew")
    main, (other, *_), *_ = draw(2, names=names)
    write("ours.h5ad", main)
    write("theirs.h5ad", other)
    assert run(monkeypatch, *REFINE, "--out", "out.csv") == 0
    out = pl.read_csv("out.csv")
    assert out.columns == ["id", "predicted", "original", "p_support", "p_original", "p_id", "yew", "support"]
    expected = mf.refine(main, [other], rng=0)
    np.testing.assert_allclose(out.select(out.columns[3:7]).to_numpy(), expected.predictions, atol=1e-7)


def test_the_result_is_that_of_the_same_tables(problem, monkeypatch):
    main, other, labels = problem
    given = ("--labels", "known.csv", "--out", "out.csv", "--save", "model.npz")
    assert run(monkeypatch, *REFINE, *given) == 0
    out, expected = pl.read_csv("out.csv"), mf.refine(main, [other], labels, rng=0)
    assert out.columns == ["id", "predicted", "original", *NAMES, "support"]
    assert out["id"].cast(str).to_list() == main.keys.tolist()
    assert out["predicted"].to_list() == expected.predicted.tolist()
    np.testing.assert_allclose(out.select(NAMES).to_numpy(), expected.predictions, rtol=1e-9)
    # Cells that come later, in a file of the same form.
    # One expression may match an entry here and columns there.
    columns = {f"p_{name}": column for name, column in zip(NAMES, other.came.T, strict=True)}
    features = {f"x{place}": column for place, column in enumerate(other.table.T)}
    pl.DataFrame({"id": other.keys} | columns | features).write_csv("theirs.csv")
    both = ("--reference", "theirs.csv", "--classes", "cell_type|p_(.*)", "--labels", "known.csv", "--out", "both.csv")
    assert run(monkeypatch, *REFINE[:2], *both) == 0
    found = pl.read_csv("both.csv").select(NAMES).to_numpy()
    np.testing.assert_allclose(found, expected.predictions, rtol=1e-9)
    names = [f"later {key}" for key in main.keys]
    write("later.h5ad", main, names)
    assert run(monkeypatch, "apply", "model.npz", "later.h5ad::X_pca", "--out", "later.csv") == 0
    later = mf.Observations(main.came, main.table, ids=names, classes=NAMES)
    found = pl.read_csv("later.csv").select(NAMES).to_numpy()
    np.testing.assert_allclose(found, expected.apply(later), rtol=1e-9)


def test_python_takes_annotated_data_and_its_entries(problem):
    main, other, labels = problem
    expected = mf.refine(main, [other], labels, rng=0).predictions
    found = mf.refine_files(
        "ours.h5ad::X_pca", "theirs.h5ad::X_pca", "known.csv", rng=0, classes="cell_type", out="out.npz"
    )
    np.testing.assert_allclose(found.predictions, expected, rtol=1e-9)
    tables = []
    for name in ("ours", "theirs"):
        cells = anndata.read_h5ad(f"{name}.h5ad")
        given = {"ids": cells.obs_names, "classes": cells.obsm["cell_type"].columns, "name": name}
        tables.append(mf.Observations(cells.obsm["cell_type"], cells.obsm["X_pca"], **given))
    result = mf.refine(tables[0], tables[1:], labels, rng=0)
    assert isinstance(result.predictions, pd.DataFrame)
    assert result.predictions.index.tolist() == main.keys.tolist()
    np.testing.assert_allclose(result.predictions, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "changed, arguments, says",
    [
        ({}, ("--classes", "types"), "'types' came, but it matches 0 data frames in obsm of ours.h5ad; name one"),
        ({}, ("--classes", "X_umap"), "The entry 'X_umap' of obsm in ours.h5ad is an array, which does not say which"),
        ({"cell_state": "whole"}, ("--classes", "cell_.*"), "it matches 2 data frames in obsm"),
        ({"cell_type": "halved"}, (), "do not sum to 1"),
        ({"cell_type": "texts"}, (), "numbers were expected"),
    ],
)
def test_what_is_no_table_of_probabilities_is_refused(problem, changed, arguments, says, monkeypatch, capsys):
    main, _, _ = problem
    frame = pd.DataFrame(main.came, index=main.keys.tolist(), columns=list(NAMES))
    frames = {"whole": frame, "halved": frame / 2.0, "texts": frame.astype(str)}
    write("ours.h5ad", main, **{name: frames[which] for name, which in changed.items()})
    assert run(monkeypatch, *REFINE[:-2], *(arguments or REFINE[-2:]), "--out", "out.csv") == 2
    assert says in " ".join(capsys.readouterr().err.split())
