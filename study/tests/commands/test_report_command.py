"""The report: a page that loads nothing from elsewhere, its files, and what is refused."""

import csv
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from study.tests.result_rows import NEEDS_COUPLED, draw_rows, write_folder

from manifuse.errors import InputError
from manifuse_study.commands.report_command import write_report
from manifuse_study.experiments import results_page
from manifuse_study.experiments.results_page import choose_surfaces
from manifuse_study.experiments.toy import Metrics


@pytest.fixture(scope="module", autouse=True)
def quick_toy():
    """The toy experiment takes ten seconds; it has tests of its own."""
    metrics = Metrics(*np.random.default_rng(0).uniform(size=(5, 12, 12)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results_page, "estimate_metrics", lambda *arguments, tick: metrics)
        yield


@pytest.fixture(scope="module")
def rows():
    return draw_rows(("osr", "awa", "hw"), trials=4)


@pytest.fixture(scope="module")
def written(rows, tmp_path_factory):
    base = tmp_path_factory.mktemp("report")
    folder = write_folder(base / "results", rows)
    write_report(
        folder,
        base / "page.html",
        rows=base / "rows.csv",
        surfaces=["hw/pix"],
        files=base / "files",
        data=base,
    )
    return base


def test_the_page_needs_no_network_and_no_script(written):
    page = (written / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    # Names of namespaces are not addresses: nothing is fetched from them.
    assert not re.search(r"https?:", re.sub(r'xmlns(:\w+)?="[^"]*"', "", page))
    assert not any(tag in page for tag in ("<script", "<link", "<iframe", "@import"))
    assert not re.search(r'(src|href)="(?!#|data:)', page)
    assert not re.search(r"url\((?!#)", page)


def test_every_tag_is_closed(written):
    open_tags = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "br"):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Balance().feed((written / "page.html").read_text())
    assert open_tags == []


def test_the_page_says_what_was_found_and_what_was_not(written):
    page = (written / "page.html").read_text()
    text = " ".join(unescape(page).split())
    assert page.count("<svg") == 4
    for words in (
        "over 3 experiments with 17 tasks",
        "OSR, perspective",
        "HW, pix",
        "No time measured for 30,475 rows.",
        "Rows on which any ranker was trained are not test rows",
        "TPC is our reconstruction",
        "not about a population",
        NEEDS_COUPLED,
        "LinAlgError: did not converge",
        "commit 0123456789ab",
    ):
        assert words in text, words
    assert "Each attribute draws its 200 training rows" not in text  # PubFig has no rows here


def test_what_stands_in_rows_is_text_and_not_markup(written):
    page = (written / "page.html").read_text()
    assert "&lt;this setting&gt;" in page
    assert "<this setting>" not in page


def test_files_are_figures_and_tables(written):
    names = {path.name for path in (written / "files").iterdir()}
    figures = {"results", "surface-osr-perspective", "surface-hw-pix", "toy"}
    assert {f"{name}.{kind}" for name in figures for kind in ("svg", "pdf")} <= names
    for name in ("osr", "awa", "hw"):
        assert {f"{name}.csv", f"{name}.tex", f"{name}-less-ind.tex"} <= names
    assert not [name for name in names if name.startswith(".")]
    assert (written / "files" / "osr.tex").read_text().startswith(r"\begin{tabular}")


def test_rows_are_written_as_they_are(written, rows):
    with (written / "rows.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == len(rows)
    assert list(lines[0]) == list(rows[0].flat())
    for line, row in zip(lines, rows, strict=True):
        assert (line["dataset"], line["task"], int(line["trial"]), line["method"]) == row.key
        assert line["accuracy"] == ("" if row.accuracy is None else repr(row.accuracy))


def test_the_same_rows_give_the_same_page(written, tmp_path):
    write_report(
        written / "results",
        tmp_path / "again.html",
        surfaces=["hw/pix"],
        data=tmp_path,
    )
    assert (tmp_path / "again.html").read_bytes() == (written / "page.html").read_bytes()


def test_the_papers_surface_comes_first_and_once(rows):
    chosen = choose_surfaces(rows, ["hw/pix", "osr/perspective", "hw/pix"])
    assert [(each.dataset, each.task, each.trial) for each in chosen] == [("osr", "perspective", 0), ("hw", "pix", 0)]
    others = [row for row in rows if row.dataset == "hw"]
    assert [(each.dataset, each.task) for each in choose_surfaces(others, [])] == [("hw", "fou")]
    assert choose_surfaces([row for row in rows if row.method == "Ind"], []) == []


def test_an_unknown_surface_names_the_nearest(rows):
    with pytest.raises(InputError, match="no accuracy surface 'osr/perspectiv'; did you mean 'osr/perspective'"):
        choose_surfaces(rows, ["osr/perspectiv"])
    with pytest.raises(InputError, match="no row has a surface"):
        choose_surfaces([], ["osr/perspective"])


@pytest.mark.parametrize(
    "arguments, says",
    [
        ({"folder": "nowhere"}, "nowhere holds no rows.jsonl"),
        ({"out": "nowhere/page.html"}, "The folder nowhere is not there"),
        ({"rows": "nowhere/rows.csv"}, "The folder nowhere is not there"),
        ({"files": "nowhere/files"}, "The folder nowhere is not there"),
        ({"files": "results/run.json"}, "run.json cannot be made a folder"),
        ({"out": "results.html"}, "results.html cannot be written"),
        ({"surfaces": ["awa/phok"]}, "did you mean 'awa/phog'"),
        ({"rows": "files/awa.csv", "files": "files"}, "files/awa.csv would be written twice"),
        ({"out": "page.pdf"}, "page.pdf ends in '.pdf', but reports end in .html"),
        ({"data": "nowhere"}, "The data folder nowhere is not there; name another with --data"),
        ({"folder": "empty"}, "has 0 rows, but none with a result"),
        ({"folder": "failed"}, "has 8 rows, but none with a result"),
        ({"folder": "damaged"}, "Row 1 of .* is damaged"),
    ],
)
def test_what_cannot_be_reported_is_refused(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = draw_rows(("awa",), trials=2)
    skipped = [row for row in draw_rows(("hw",), trials=2) if row.status == "skipped"][:8]
    write_folder(tmp_path / "results", rows)
    write_folder(tmp_path / "empty", [])
    write_folder(tmp_path / "failed", skipped)
    damaged = write_folder(tmp_path / "damaged", rows)
    (damaged / "rows.jsonl").write_text('{"dataset": "hw"}\n')
    for name in ("files", "results.html"):
        (tmp_path / name).mkdir()
    given = {"folder": "results", "out": "page.html", "data": tmp_path, **arguments}
    paths = {key: Path(value) if isinstance(value, str) else value for key, value in given.items()}
    with pytest.raises(InputError, match=says):
        write_report(**paths)


def test_a_folder_of_one_trial_and_one_method_still_makes_a_page(tmp_path):
    rows = [row for row in draw_rows(("hw",), trials=1) if row.method == "Ind"]
    write_report(write_folder(tmp_path / "results", rows), tmp_path / "page.html", data=tmp_path)
    text = (tmp_path / "page.html").read_text()
    assert "9 not tested" in text
    assert "Every method ran on every task." in text
    assert "No difference is known." in text
