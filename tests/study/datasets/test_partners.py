import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from manifuse.errors import InputError
from manifuse.study.datasets.partners import draw_partners, read_table, table_names


@pytest.fixture
def published(data):
    """The script that the tables came with."""
    path = data / "tables" / "draw.py"
    if not path.is_file():
        pytest.skip("The ordinary tables are not in the data folder.")
    spec = spec_from_file_location("published_draw", path)
    module = module_from_spec(spec)
    sys.modules["published_draw"] = module
    spec.loader.exec_module(module)
    return module


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


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match="There are no tables"):
        table_names(tmp_path)


def test_a_table_without_a_target_is_refused(tmp_path):
    (tmp_path / "tables").mkdir()
    np.savez(tmp_path / "tables" / "odd.npz", X=np.ones((3, 2)))
    with pytest.raises(InputError, match="should have arrays X"):
        read_table(tmp_path, "odd")
