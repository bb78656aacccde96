"""The page in a real browser: it shows what the library computes, and it asks no other server for anything."""

import re
import time
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from tests.page.conftest import serving
from tests.page.test_exploration import explored, refined, said_of
from tests.problems import draw, remade

import manifuse as mf
from manifuse.cli.config import read_options
from manifuse.cli.explore_command import export_tables
from manifuse.cli.refine_command import run_refine
from manifuse.page.exploration import run
from manifuse.page.server import Page
from manifuse.page.shown import explain_row, show
from manifuse.words.findings import findings_of


@pytest.fixture(scope="module")
def exploration():
    return explored(draw(1))


@pytest.fixture(scope="module")
def served(exploration):
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        client.wait("latest")
        yield client


@pytest.fixture
def page(browser, served):
    """The page as it first was. After the test, this fixture checks what it logged and which servers it asked."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    served.post("/api/jobs", {"ignored": [], "same_target": None})
    open_page(page, served)
    yield page
    page.close()
    assert not said
    assert all(address.startswith((f"http://{served.own}/", "data:", "blob:")) for address in asked)


def open_page(page, client):
    page.goto(f"http://{client.own}/")
    page.wait_for_selector("#results[aria-busy=false]")
    until(page, "globalThis.explored !== undefined")


def until(page, condition):
    """Wait for a condition of the page; its content security policy forbids playwright's own way of waiting."""
    deadline = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def settled(page, condition):
    """Wait until the page shows what is asked for, and the server rests."""
    until(page, f"({condition}) && document.getElementById('results').getAttribute('aria-busy') === 'false'")


def assert_shown(page, exploration, result):
    """What the page shows is what the library says of a result."""
    seen = show(exploration, result)
    numbers = [tile["number"] for tile in seen["tiles"]]
    assert [text.split(" → ")[-1] for text in page.locator("#tiles b").all_inner_texts()] == numbers
    assert page.inner_text("#sentence") == seen["sentence"]
    assert page.locator("#findings li").all_inner_texts() == said_of(result)
    lines = page.locator("#references tbody tr").all()
    for line, entry, part in zip(lines, result.relevance.grid.body, seen["parts"], strict=True):
        assert [cell.inner_text() for cell in line.locator("th, td").all()] == [*entry, part]
    # The table of alignments has the refined scores first, and leaves out the last column.
    cells = [float(cell) for cell in page.locator("#matrix td").all_inner_texts() if cell]
    expected = [seen["metric"][i][j] for i in range(1, len(seen["metric"])) for j in range(i)]
    np.testing.assert_allclose(cells, expected, atol=0.005 + 1e-9)
    for table, rows in (("top", seen["top"]), ("moved", seen["moved"])):
        listed = page.locator(f"#{table} th[scope=row]").all_inner_texts()
        assert listed == exploration.main.keys[rows].tolist()
    return seen


def test_it_opens_with_what_refine_gives(exploration, page):
    result = refined(exploration)
    assert_shown(page, exploration, result)
    (worth,) = [each for each in findings_of(result.evidence, result.refined) if each.code == "worth"]
    assert f"- {worth.sentence}" in page.locator("#findings li").all_inner_texts()
    assert page.is_checked("#target input[value=null]")
    assert all(page.locator("[role=switch]").evaluate_all("all => all.map((each) => each.checked)"))


def test_a_reference_that_is_switched_off_is_left_out(exploration, page):
    opened = refined(exploration)
    page.get_by_role("switch", name="reference 2").uncheck()
    settled(page, "explored.shown.ignored.length === 1")
    result = refined(exploration, ignored=("reference 2",))
    assert_shown(page, exploration, result)
    assert page.inner_text("#sentence").startswith("Without reference 2: ")
    # A page that is loaded again shows the same.
    page.reload()
    page.wait_for_selector("#results[aria-busy=false]")
    assert not page.get_by_role("switch", name="reference 2").is_checked()
    page.click("#reset")
    settled(page, "explored.shown.ignored.length === 0")
    assert page.get_by_role("switch", name="reference 2").is_checked()
    assert_shown(page, exploration, opened)
    page.reload()
    page.wait_for_selector("#results[aria-busy=false]")
    assert page.get_by_role("switch", name="reference 2").is_checked()


@pytest.mark.parametrize("value", ["true", "false"])
def test_the_references_are_followed_or_asked_strictly(browser, value):
    exploration = explored(draw(0), labels=False)
    opened, result = refined(exploration), refined(exploration, same_target=value == "true")
    assert opened.accepted
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        page = browser.new_page()
        open_page(page, client)
        page.check(f"#target input[value={value}]")
        settled(page, f"explored.shown.same_target === {value}")
        seen = assert_shown(page, exploration, result)
        assert result.accepted == (value == "true")
        if not result.accepted:
            assert "stay as they were" in page.inner_text("#sentence")
            assert seen["tiles"][0]["number"] == "1.000"
            assert page.inner_text("#moved") == "No row moved."
        page.close()


def run_once_allowed(gate, exploration, method):
    """Refine as soon as the file ``gate`` is gone."""
    while gate.exists():
        time.sleep(0.01)
    return run(exploration, method)


def test_a_refinement_is_cancelled_and_another_takes_its_place(exploration, browser, tmp_path, monkeypatch):
    # A run that ends by itself may end before the page has asked for it.
    gate = tmp_path / "wait"
    gate.touch()
    monkeypatch.setattr("manifuse.page.server.run", partial(run_once_allowed, gate))
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        page = browser.new_page()
        page.goto(f"http://{client.own}/")
        page.wait_for_selector("#working", state="visible")
        assert page.is_disabled("#export")
        page.click("#cancel")
        page.wait_for_selector("#working", state="hidden")
        assert page.inner_text("#sentence").startswith("The computation was cancelled. Start again")
        page.click("#reset")
        page.wait_for_selector("#working", state="visible")
        gate.unlink()
        settled(page, "globalThis.explored !== undefined")
        gate.touch()
        page.get_by_role("switch", name="reference 1").uncheck()
        page.get_by_role("switch", name="reference 2").uncheck()
        gate.unlink()
        settled(page, "globalThis.explored?.shown.ignored.length === 2")
        gate.touch()
        page.get_by_role("switch", name="reference 1").check()
        page.wait_for_selector("#working", state="visible")
        page.click("#cancel")
        settled(page, "true")
        # The controls say what is shown.
        assert not page.get_by_role("switch", name="reference 1").is_checked()
        assert page.is_enabled("#export")
        page.close()


def test_a_row_is_found_by_its_id_and_explained(exploration, page):
    result, keys = refined(exploration), exploration.main.keys
    page.fill("#find", keys[7])
    until(page, "document.querySelectorAll('#found p').length > 3")
    assert page.locator("#found p").all_inner_texts() == explain_row(exploration, result, 7)
    # The beginning of an id is none.
    page.fill("#find", "m")
    assert page.inner_text("#found") == "No row has this id. 160 begin with it: m0, m1, m2 and more."
    page.fill("#find", "nobody")
    assert page.inner_text("#found") == "No row has this id."
    page.fill("#find", "")
    assert page.inner_text("#found") == "For example m0."


def test_a_row_of_which_the_server_says_nothing_is_named_in_a_sentence(served, browser):
    page = browser.new_page()
    open_page(page, served)
    page.route("**/rows/*", lambda route: route.abort())
    page.fill("#find", "m8")
    until(page, "document.querySelector('#found').textContent.includes('could not be found out. The server')")
    page.close()


def test_the_export_repeats_what_is_shown(exploration, page, tmp_path, monkeypatch):
    page.get_by_role("switch", name="reference 2").uncheck()
    page.check("#target input[value=true]")
    settled(page, "explored.shown.ignored.length === 1 && explored.shown.same_target === true")
    with page.expect_download() as caught:
        page.click("#export")
    caught.value.save_as(tmp_path / "explored.zip")
    page.wait_for_selector("#command", state="visible")
    assert "manifuse refine --config run.toml" in page.inner_text("#command")
    page.click("#reset")
    settled(page, "explored.shown.ignored.length === 0")
    assert page.is_hidden("#command")
    assert page.inner_text("#kept").startswith("Export saves the config")
    zipfile.ZipFile(tmp_path / "explored.zip").extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "explored")
    run_refine(read_options({"config": tmp_path / "explored" / "run.toml"}))
    result = refined(exploration, ignored=("reference 2",), same_target=True)
    with np.load("refined.npz") as again:
        np.testing.assert_array_equal(again["score"], result.predictions)


def test_everything_is_reached_by_the_keyboard(page):
    page.get_by_role("switch", name="reference 1").focus()
    page.keyboard.press("Space")
    settled(page, "explored.shown.ignored[0] === 'reference 1'")
    page.focus("#target input[value=null]")
    page.keyboard.press("ArrowDown")
    settled(page, "explored.shown.same_target === true")
    page.focus("#reset")
    page.keyboard.press("Enter")
    settled(page, "explored.shown.same_target === null && explored.shown.ignored.length === 0")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, button")].filter((each) =>
            !(each.labels?.length || each.textContent.trim() || each.getAttribute("aria-label")))
            .map((each) => each.id)"""
    )
    assert unnamed == []


@pytest.mark.parametrize("kind", ["unlabelled", "paired", "regression", "probability", "long names"])
def test_problems_of_every_kind_are_shown(browser, kind):
    case = draw(3, features=kind != "unlabelled")
    exploration = explored(case, labels=kind != "unlabelled")
    if kind == "long names":
        # A finding names a reference that runs the other way.
        first, *others = case.references
        reverse = remade(first, predictions=-first.scores, name=40 * "long")
        exploration = replace(exploration, references=(reverse, *others), labels=None)
    if kind == "paired":
        rng = np.random.default_rng(0)
        one, two = rng.permutation(160)[:80].reshape(2, 40)
        higher, lower = np.where(case.truth[one] > case.truth[two], [one, two], [two, one])
        labels = mf.RankLabels.from_pairs(case.main.keys[higher], case.main.keys[lower])
        exploration = replace(exploration, labels=labels)
    if kind == "regression":
        exploration = replace(exploration, method=mf.JointDiffusion(task="regression"))
    if kind == "probability":
        chances = np.round(expit(4.0 * case.main.scores), 2)
        chances[:2] = 0.0, 1.0
        exploration = replace(exploration, main=remade(case.main, predictions=chances, scale="probability"))
    result = refined(exploration)
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        open_page(page, client)
        assert_shown(page, exploration, result)
        page.fill("#find", case.main.keys[1])
        until(page, "document.querySelectorAll('#found p').length > 3")
        assert page.locator("#found p").all_inner_texts() == explain_row(exploration, result, 1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.close()
        assert not said


def test_the_page_is_readable_in_light_and_dark(browser, served):
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme=scheme)
        open_page(page, served)
        colours = page.evaluate(
            """() => ["color", "backgroundColor"].map((name) => getComputedStyle(document.body)[name])"""
        )
        ink, paper = (luminance(colour) for colour in colours)
        assert (max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) > 7
        page.close()


def luminance(colour):
    channels = np.array([int(value) for value in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
