"""Messages to people: a warning of many parts of a table is shown once, and one of each table is shown."""

import warnings

import pytest

from manifuse.cli.console import in_flags, once
from manifuse.errors import warn


@pytest.mark.filterwarnings("always::manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("name", ["clinic-{}", "clinic{}", "202{}", "2023-0{}", "v1.{}"])
def test_a_warning_is_shown_once_for_each_table_whatever_numbers_it_has(name, monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", lambda *given, **named: None)
    with once() as told:
        for number in (1, 2):
            for rows in ("6", "1,250", "0.75", "-3", "1.2e-07"):
                warn("few", f"{name.format(number)} has {rows} rows, of {rows}.")
    assert [each["sentence"] for each in told] == [f"{name.format(number)} has 6 rows, of 6." for number in (1, 2)]


def test_a_line_that_breaks_within_a_parameter_breaks_within_its_option():
    assert in_flags('probabilities, refine with\nscale="probability"; labels') == (
        "probabilities, refine with\n--scale probability; labels"
    )
    assert in_flags("set `same_target` to\nfalse") == "give\n--ask-references"
    place = "set safeguarded = false in the table [method] of a config to take it"
    assert in_flags("set `safeguarded` to false to take it") == place
