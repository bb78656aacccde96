"""The page of explore for a predictor of classes: what it shows is what the library says, in a real browser too."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from tests.page.conftest import exported, serving
from tests.page.test_accessibility import LOOKS, look_at
from tests.page.test_browser import open_page, settled, until
from tests.page.test_exploration import refined, tiles
from tests.test_classes import NAMES, draw

import manifuse as mf
from manifuse.page.exploration import Exploration, describe, run
from manifuse.page.server import Page
from manifuse.page.shown import explain_row, show


@pytest.fixture(scope="module")
def exploration():
    main, others, known, _, _ = draw(1, labels=60)
    return Exploration("toy", main, others, known, mf.JointDiffusion(), 3)


@pytest.fixture(scope="module")
def result(exploration):
    return refined(exploration)


@pytest.fixture(scope="module")
def served(exploration):
    with serving(Page(exploration, exported)) as client:
        client.wait("latest")
        yield client


@pytest.fixture(scope="module")
def report(exploration, result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    mf.write_report(result, path, references=exploration.references)
    return path


def test_what_is_shown_is_what_refine_found(exploration, result):
    seen = show(exploration, run(exploration, exploration.method))
    before, after = exploration.main.classes.most_probable(exploration.main.came), result.predicted
    assert seen["counts"]["head"] == ("before \\ after", *NAMES)
    counts = [[int(cell) for cell in line[1:]] for line in seen["counts"]["body"]]
    np.testing.assert_array_equal(counts, confusion_matrix(before, after, labels=NAMES))
    place = {key: row for row, key in enumerate(exploration.main.keys)}
    rows = [place[line[0]] for line in seen["changed"]["body"]]
    rises = result.predictions - exploration.main.came
    rises = rises[np.arange(240), exploration.main.classes.places_of(after)]
    expected = np.where(before != after, rises, -np.inf)
    assert rows == np.argsort(-expected, kind="stable")[:8].tolist()
    assert [line[1].split(" (")[0] for line in seen["changed"]["body"]] == before[rows].tolist()
    assert [line[2].split(" (")[0] for line in seen["changed"]["body"]] == after[rows].tolist()
    shown = tiles(seen)
    assert shown["accuracy on 60 labelled rows, each judged without its own label"] == (
        f"{result.accuracy.before:.1%}",
        f"{result.accuracy.after:.1%}",
    )
    assert shown["gain and its standard error, in log loss"] == (None, result.gain.text(signed=True))
    assert not seen.keys() & {"before", "after", "top", "moved"}


def test_a_row_is_explained_as_the_library_does(exploration, result):
    why = mf.explain(result, exploration.main.keys[7], exploration.references)
    assert explain_row(exploration, result, 7) == list(why.sentences)
    facts = describe(exploration)
    assert facts["classes"]
    assert facts["labelled"] == 60


def test_references_are_switched_off_in_a_browser_and_rows_are_found(exploration, result, served, browser):
    page, said = browser.new_page(viewport={"width": 1400, "height": 900}), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    open_page(page, served)
    for answer in (result, refined(exploration, ignored=("theirs 1",))):
        seen = show(exploration, answer)
        assert page.inner_text("#sentence") == seen["sentence"]
        for name in ("counts", "changed"):
            lines = page.locator(f"#{name} tr").all()[1:]
            texts = [tuple(cell.inner_text() for cell in line.locator("th, td").all()) for line in lines]
            assert texts == list(map(tuple, seen[name]["body"]))
        if answer is result:
            page.get_by_role("switch", name="theirs 1").uncheck()
            settled(page, "explored.shown.ignored.length === 1")
    assert page.locator("#counts").is_visible()
    assert not any(page.locator(f"#{name}").is_visible() for name in ("ranking", "top", "moved"))
    page.fill("#find", exploration.main.keys[7])
    until(page, "document.querySelectorAll('#found p').length > 3")
    assert page.locator("#found p").all_inner_texts() == explain_row(exploration, answer, 7)
    page.close()
    assert not said


def test_the_pages_have_no_barriers(report, served, browser):
    """The page of scores is looked at in both ways."""
    wide, narrow = LOOKS
    assert look_at(browser, f"http://{served.own}/", narrow, "#results[aria-busy=false]") == ([], [], 0)
    assert look_at(browser, f"file://{report}", wide) == ([], [], 0)


def test_figures_that_are_not_broad_fit_on_a_phone(report, browser):
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(f"file://{report}")
    for figure in page.locator("figure:not(.broad) .wide").all():
        assert figure.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert page.locator("figure:not(.broad)").count() >= 3
    page.close()
