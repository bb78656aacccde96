"""The catalogue: names lead to loaders, and wrong ones to the nearest right one."""

from dataclasses import replace

import pytest
from study.tests.datasets.published import caltech, write_matlab

import manifuse as mf
from manifuse.errors import look_up
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.hw import HW


def test_it_is_in_the_papers_order_with_the_bundled_set_last():
    papers = ["pubfig", "osr", "shoes", "cal7", "nus", "hw", "awa"]
    assert list(CATALOGUE) == [*papers, "lipophilicity", "digits"]
    assert all(each.name == name for name, each in CATALOGUE.items())


def test_a_data_set_is_loaded_by_its_name(tmp_path, rng):
    write_matlab(tmp_path / "cal7" / "Caltech101-7.mat", caltech(rng))
    assert CATALOGUE["cal7"].load(tmp_path).name == "cal7"
    assert len(CATALOGUE["digits"].load(tmp_path)) == 1797


@pytest.mark.parametrize("wrong, nearest", [("pubfog", "; did you mean 'pubfig'?"), ("AWA", "; did you mean 'awa'?")])
def test_an_unknown_name_is_refused_with_the_nearest(wrong, nearest):
    with pytest.raises(mf.InputError, match=f"There is no data set {wrong!r}") as refusal:
        look_up(wrong, CATALOGUE, kind="data set")
    assert nearest in str(refusal.value)


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name != "digits"])
def test_every_loader_refuses_an_empty_folder_and_names_its_files(tmp_path, name):
    assert not CATALOGUE[name].is_there(tmp_path)
    with pytest.raises(mf.InputError, match="is not there") as refusal:
        CATALOGUE[name].load(tmp_path)
    assert CATALOGUE[name].expected in str(refusal.value)


def test_forms_are_put_into_words_folder_by_folder():
    source = replace(HW, forms=(("a/x",), ("a/y", "b/u", "b/v")))
    assert source.expected == "x in a; or y in a with u, v in b"
