"""Pages in a real browser, wide and light, narrow and dark: nothing is logged, and axe finds no barrier."""

from functools import partial

import pytest
from tests.page.conftest import serving
from tests.page.test_exploration import explored
from tests.problems import draw

import manifuse as mf
from manifuse.cli.explore_command import export_tables
from manifuse.page.server import Page

LOOKS = [(1280, "light"), (400, "dark")]


def barriers(page):
    """What axe-core finds, each with the first element that has it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    return [(each["id"], each["nodes"][0]["html"]) for each in axe.run(page).response["violations"]]


def look_at(browser, address, look, ready=None):
    """Open a page; return what it logged, the barriers that axe finds, and how far it is wider than the window."""
    width, scheme = look
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    page.on("console", lambda message: said.append(message) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(error))
    page.goto(address, wait_until="load")
    if ready is not None:
        page.wait_for_selector(ready)
    # Before axe comes, which loads style sheets in its own way.
    logged = [f"{each} {getattr(each, 'location', '')}" for each in said]
    found = barriers(page)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    page.close()
    return logged, found, wider


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report that was accepted with labels, one that was not measured, and one that was not accepted."""
    folder, case = tmp_path_factory.mktemp("reports"), draw(0)
    coupled = draw(0, features=False)
    runs = {
        "accepted": (case.main, case.references, case.labels()),
        "unmeasured": (case.main, case.references[:1], None),
        "unlike": (coupled.main, coupled.references, None),
    }
    for name, (main, references, labels) in runs.items():
        mf.write_report(mf.refine(main, references, labels, rng=0), folder / f"{name}.html", references=references)
    return folder


@pytest.mark.parametrize(
    "name, look", [*(("accepted", look) for look in LOOKS), ("unmeasured", LOOKS[1]), ("unlike", LOOKS[0])]
)
def test_a_report_has_no_barriers(reports, browser, name, look):
    assert look_at(browser, f"file://{reports / name}.html", look) == ([], [], 0)


def test_figures_of_a_report_fit_on_a_phone(reports, browser):
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(f"file://{reports / 'accepted.html'}")
    widths = page.eval_on_selector_all(
        "figure .wide", "all => all.map((each) => [each.scrollWidth, each.clientWidth])"
    )
    page.close()
    assert len(widths) > 4
    assert all(inner <= outer for inner, outer in widths)


@pytest.mark.parametrize("look", LOOKS)
def test_the_page_of_explore_has_no_barriers(served, browser, look):
    assert look_at(browser, f"http://{served.own}/", look, "#results[aria-busy=false]") == ([], [], 0)


@pytest.fixture(scope="module")
def served():
    exploration = explored(draw(1))
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        client.wait("latest")
        yield client
