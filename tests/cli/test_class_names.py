"""Classes that are called like columns of the output, from arrays and archives."""

import numpy as np
import polars as pl
import pytest
from tests.test_classes import draw

import manifuse as mf
from manifuse.cli.app import main as command

NAMES = ("support", "original", "id", "p_id")
COLUMNS = ["id", "predicted", "original", "p_support", "p_original", "p_p_id", "p_id", "support"]


@pytest.fixture(scope="module")
def tables():
    main, (other,), *_ = draw(3, references=1, names=NAMES)
    return main, other


@pytest.fixture(scope="module")
def result(tables):
    main, other = tables
    return mf.refine(main, [other], rng=0)


def written(table, path):
    np.savez(path, ids=table.keys, scores=table.came, classes=np.array(table.classes.names), features=table.table)
    return str(path)


def test_data_frames_have_a_column_for_each(tables, result):
    frame = result.to_frame()
    assert frame.columns == COLUMNS
    assert frame["id"].cast(str).to_list() == tables[0].keys.tolist()
    assert tables[0].classes.names == NAMES
    np.testing.assert_array_equal(frame.select(COLUMNS[3:7]).to_numpy(), result.predictions)
    np.testing.assert_array_equal(frame["support"], result.support)
    assert set(frame["predicted"]) | set(frame["original"]) <= {*NAMES}


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_archives_have_all_that_comes_out(tables, result, tmp_path, monkeypatch, ending):
    ours, theirs = (written(table, tmp_path / f"{name}.npz") for name, table in zip("ab", tables, strict=True))
    out = tmp_path / f"refined.{ending}"
    saved = str(tmp_path / "model.npz")
    arguments = ["refine", ours, "--reference", theirs, "--out", str(out), "--save", saved]
    monkeypatch.setattr("sys.argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        command()
    assert left.value.code == 0
    if ending == "npz":
        made = dict(np.load(out))
        assert sorted(made) == ["classes", "id", "original", "predicted", "score", "support"]
        np.testing.assert_allclose(made["score"], result.predictions, atol=1e-7)
        np.testing.assert_allclose(made["support"], result.support, atol=1e-7)
        assert made["classes"].tolist() == list(tables[0].classes.names)
    else:
        made = pl.read_csv(out)
        assert made.columns == COLUMNS
        np.testing.assert_allclose(made.select(COLUMNS[3:7]).to_numpy(), result.predictions, atol=1e-7)
    features = {f"x{place}": column for place, column in enumerate(tables[0].table.T)}
    later = pl.DataFrame(
        {"id": range(1000, 1240), **dict(zip(COLUMNS[3:7], tables[0].came.T, strict=True)), **features}
    )
    with pytest.warns(mf.ManifuseWarning, match="the features that a was fitted with have no names"):
        assert mf.load(saved).apply(later).columns == COLUMNS
