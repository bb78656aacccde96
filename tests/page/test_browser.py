"""The page in a real browser: it shows what the library computes, and it asks no other server for anything."""

import re
import time
import tomllib
import zipfile
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import rankdata
from tests.page.conftest import serving
from tests.page.test_exploration import explored
from tests.problems import draw, remade

import manifuse as mf
from manifuse.cli.config import read_options
from manifuse.cli.explore_command import export_tables
from manifuse.cli.refine_command import run_refine
from manifuse.cli.refine_options import RefineOptions
from manifuse.evidence.score import GradedRanking, PairedRanking, SquaredError
from manifuse.page.exploration import set_as_shown
from manifuse.page.server import Page
from manifuse.report.wording import remarks_of, worth_of


@pytest.fixture(scope="module")
def exploration():
    return explored(draw(1), held_back=True)


@pytest.fixture(scope="module")
def served(exploration):
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        client.wait("latest")
        yield client


@pytest.fixture
def page(browser, served):
    """The page, loaded. After the test, this fixture checks what it logged and which servers it asked."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    open_page(page, served)
    yield page
    page.close()
    assert not said
    assert all(address.startswith((f"http://{served.own}/", "data:", "blob:")) for address in asked)


def open_page(page, client, view="diffusion"):
    page.goto(f"http://{client.own}/")
    page.wait_for_selector("#results[aria-busy=false]")
    until(page, "globalThis.explored !== undefined")
    if view == "diffusion":
        page.check("#view-diffusion")
        until(page, "explored.set.view === 'diffusion' && explored.shown.run !== undefined")
        until(page, "explored.problem.score === null || explored.space.surface.whole")


def until(page, condition):
    """Wait for a condition of the page; its content security policy forbids playwright's own way of waiting."""
    deadline = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def move(page, slider, position):
    """Move a slider as a user does, and wait for the picture."""
    page.evaluate(
        """([id, position]) => new Promise((resume) => {
            const slider = document.getElementById(id);
            slider.value = position;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
            requestAnimationFrame(() => setTimeout(resume));
        })""",
        [slider, position],
    )


def state(page):
    return page.evaluate(
        """() => ({ ...explored.set, refined: [...explored.shown.refined], weights: explored.shown.weights,
            labels: explored.shown.labels, heldBack: explored.shown.heldBack, alignments: explored.shown.alignments,
            bridges: explored.space.bridges, taken: explored.shown.run.path.length - 1,
            ranks: [...explored.shown.after] })"""
    )


def refine_as(exploration, seen):
    """What the library computes with the settings that the page shows."""
    bridges = seen["bridges"]
    method = replace(
        exploration.method,
        neighbours=bridges["neighbours"],
        score_scale=bridges["score_scale"] or np.inf,
        bridge=mf.ImplicitEuler(bridges["step"]),
    )
    names = [reference.name for reference in exploration.references]
    ignored = tuple(name for name, active in zip(names, seen["active"], strict=True) if not active)
    shown = set_as_shown(
        method,
        step_size=seen["delta"],
        weight_scale=seen["scale"],
        steps=seen["steps"],
        ignored=ignored,
    )
    return mf.refine(exploration.main, exploration.references, exploration.labels, shown, rng=exploration.seed)


def assert_shown(exploration, page):
    seen = state(page)
    result = refine_as(exploration, seen)
    np.testing.assert_allclose(seen["refined"], result.predictions, rtol=0, atol=1e-11)
    np.testing.assert_allclose(seen["weights"], result.weights, rtol=0, atol=1e-11)
    if not result.accepted:
        return seen, result
    last = result.history[-1]
    np.testing.assert_allclose(seen["alignments"][1 : 1 + len(last.alignments)], last.alignments, atol=1e-11)
    if exploration.labels is not None:
        # Rounding alone may raise a score by a last step, and the browser rounds in another way.
        assert last.score - result.history[seen["taken"]].score < 1e-12
        assert seen["labels"]["after"] == pytest.approx(result.accuracy.after, abs=1e-12)
        assert seen["labels"]["gain"]["value"] == pytest.approx(result.gain.value, abs=1e-12)
        assert seen["labels"]["gain"]["error"] == pytest.approx(result.gain.standard_error, abs=1e-12)
    return seen, result


def refined(exploration, **changes):
    method = replace(exploration.method, **changes)
    return mf.refine(exploration.main, exploration.references, exploration.labels, method, rng=exploration.seed)


def test_it_opens_with_what_refine_gives_and_exports_that(exploration, served, browser, tmp_path, monkeypatch):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    open_page(page, served, view="result")
    result = refined(exploration, neighbours=6)
    seen = page.evaluate("() => ({ ...explored.result, predictions: [...explored.shown.refined] })")
    np.testing.assert_array_equal(seen["predictions"], result.predictions)
    assert seen["accuracy"]["after"] == result.accuracy.after
    assert seen["gain"]["value"] == result.gain.value
    assert f"{100 * result.accuracy.after:.1f}" in page.inner_text("#tiles")
    assert page.inner_text("#sentence") == str(result.reason)
    assert "±" in page.inner_text("#references tbody tr:first-child td:nth-child(2)")
    remarks = page.locator("#remarks li").all_inner_texts()
    assert remarks == remarks_of(result)
    assert worth_of(result.worth) in remarks
    # The table of alignments has the refined scores first, and leaves out the last column.
    cells = page.locator("#matrix td").all_inner_texts()
    numbers = [float(cell) for cell in cells if cell]
    order = [1, 0, 2, 3]
    expected = [result.metric[order[i], order[j]] for i in range(1, 4) for j in range(i)]
    np.testing.assert_allclose(numbers, expected, atol=0.005 + 1e-9)
    assert not page.is_visible("#sphere")
    assert not page.is_visible("#delta")
    key = exploration.main.keys[7]
    page.fill("#find", key)
    rank = int(np.sum(result.scores > result.scores[7])) + 1
    assert f"{key}: rank " in page.inner_text("#found")
    assert f", {rank} after" in page.inner_text("#found")
    # The page says what `explain` says.
    until(page, "document.querySelector('#found').textContent.includes('most like it')")
    why = mf.explain(result, key, exploration.references)
    assert next(sentence for sentence in why.sentences if "most like it" in sentence) in page.inner_text("#found")
    assert why.sentences[1].startswith("Its own score is at")
    assert why.sentences[1] in page.inner_text("#found")
    puts = [sentence.partition("puts")[2] for sentence in why.sentences if "that both know" in sentence]
    assert puts
    assert all(sentence in page.inner_text("#found") for sentence in puts)
    page.route("**/api/rows/*", lambda route: route.abort())
    page.fill("#find", exploration.main.keys[8])
    until(page, "document.querySelector('#found').textContent.includes('could not be found out. The server')")
    assert f"{exploration.main.keys[8]}: rank " in page.inner_text("#found")
    page.unroute("**/api/rows/*")
    # The beginning of an id is none.
    page.fill("#find", "m1")
    assert "rank" in page.inner_text("#found")
    page.fill("#find", "m")
    assert page.inner_text("#found") == "No row has this id. 160 begin with it: m0, m1, m2 and more."
    page.fill("#find", "nobody")
    assert page.inner_text("#found") == "No row has this id."
    with page.expect_download() as caught:
        page.click("#export")
    caught.value.save_as(tmp_path / "explored.zip")
    zipfile.ZipFile(tmp_path / "explored.zip").extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "explored")
    run_refine(read_options(RefineOptions, {"config": tmp_path / "explored" / "run.toml"}))
    with np.load("refined.npz") as again:
        np.testing.assert_array_equal(again["score"], result.predictions)
    page.close()


def test_a_reference_that_is_switched_off_is_left_out_of_the_result(exploration, served, browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    open_page(page, served, view="result")
    before = page.evaluate("[...explored.shown.refined]")
    page.get_by_role("switch", name="reference 2").uncheck()
    until(page, "explored.result.ignored !== null && explored.shown.weights[1] === 0")
    result = refined(exploration, ignored=("reference 2",), ignore_chance=False)
    np.testing.assert_array_equal(page.evaluate("[...explored.shown.refined]"), result.predictions)
    assert page.inner_text("#sentence").startswith("Without reference 2: ")
    assert "when the page was opened" in page.inner_text("#sentence")
    page.click("#reset")
    until(page, "explored.result.ignored === null && explored.shown.weights[1] > 0")
    assert page.evaluate("[...explored.shown.refined]") == before
    page.check("#view-diffusion")
    page.wait_for_selector("#sphere", state="visible")
    page.close()


def test_one_round_opens_with_what_the_library_would_choose(exploration, page):
    seen, _ = assert_shown(exploration, page)
    # One round of the method itself chooses the same cell from the same surface.
    chosen = mf.refine(
        exploration.main,
        exploration.references,
        exploration.labels,
        replace(exploration.method, rounds=1, learning=False),
        rng=exploration.seed,
    ).choice
    assert (seen["delta"], seen["scale"]) == (chosen.step_size, chosen.weight_scale)
    surface = page.evaluate("[...explored.space.surface.heights]")
    np.testing.assert_allclose(np.reshape(surface, chosen.surface.shape), chosen.surface, atol=1e-12)
    assert page.locator("#surface button").count() == chosen.surface.size


def test_sliders_and_switches_give_what_the_library_computes(exploration, page):
    before = page.inner_text("#tiles")
    for slider, position in (("delta", 20), ("scale", 60), ("steps", 2), ("delta", 110), ("scale", 5)):
        move(page, slider, position)
        assert_shown(exploration, page)
    assert page.inner_text("#tiles") != before
    page.get_by_role("switch", name="reference 1").uncheck()
    until(page, "explored.shown.weights[0] === 0")
    seen, result = assert_shown(exploration, page)
    order = np.argsort(-np.asarray(result.predictions), kind="stable")
    assert np.argsort(seen["ranks"], kind="stable").tolist() == order.tolist()
    assert page.inner_text("#top tr:nth-child(2) td:nth-child(2)") == exploration.main.keys[order[0]]
    page.get_by_role("switch", name="reference 2").uncheck()
    until(page, "!explored.shown.any")
    seen, _ = assert_shown(exploration, page)
    np.testing.assert_array_equal(seen["refined"], exploration.main.scores)
    assert "stay as they came" in page.inner_text("#sentence")


def test_everything_is_reached_by_the_keyboard(page):
    page.focus("#delta")
    value = page.inner_text("#delta-value")
    page.keyboard.press("ArrowRight")
    until(page, f"document.getElementById('delta-value').textContent !== '{value}'")
    cells = page.locator("#surface button")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "explored.set.delta === explored.problem.step_sizes[1]")
    assert page.evaluate("explored.set.scale === explored.problem.weight_scales[1]")
    page.get_by_role("switch", name="reference 1").focus()
    page.keyboard.press("Space")
    until(page, "!explored.set.active[0]")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, button")].filter((each) =>
            !(each.labels?.length || each.textContent.trim() || each.getAttribute("aria-label")))
            .map((each) => each.id)"""
    )
    assert unnamed == []


def test_new_bridges_are_built_cancelled_and_checked(exploration, page):
    at_first = state(page)
    page.fill("#neighbours", "100")
    page.click("#build")
    page.wait_for_selector("#working", state="visible")
    page.click("#cancel")
    page.wait_for_selector("#working", state="hidden")
    assert_shown(exploration, page)
    page.fill("#neighbours", "9")
    page.fill("#bridge-step", "2")
    page.check("#unweighed")
    page.click("#build")
    until(page, "explored.space.bridges.neighbours === 9")
    seen, result = assert_shown(exploration, page)
    assert seen["bridges"] == {
        "neighbours": 9,
        "score_scale": None,
        "step": 2.0,
        "candidate": 0,
    }
    page.click("#check")
    page.wait_for_selector("#kept[data-difference]")
    assert float(page.get_attribute("#kept", "data-difference")) < 1e-11
    assert f"{100 * result.accuracy.after:.1f} %" in page.inner_text("#kept")
    page.fill("#bridge-step", "-1")
    page.click("#build")
    assert page.evaluate("document.getElementById('bridge-step').matches(':invalid')")
    # It starts again with the bridges that it opened with, and what was checked is no longer shown.
    opened = page.evaluate("explored.opened")
    assert opened != seen["bridges"]
    page.get_by_role("switch", name="reference 2").uncheck()
    move(page, "delta", 3)
    page.click("#reset")
    until(page, "explored.set.view === 'result' && explored.space.bridges.neighbours !== 9")
    assert page.evaluate("explored.space.bridges") == opened
    assert page.input_value("#neighbours") == str(opened["neighbours"])
    assert page.get_attribute("#kept", "data-difference") is None
    assert page.inner_text("#kept").startswith("Export saves the config")
    page.check("#view-diffusion")
    page.wait_for_selector("#sphere", state="visible")
    again = state(page)
    assert {name: again[name] for name in ("delta", "scale", "steps", "active", "refined")} == {
        name: at_first[name] for name in ("delta", "scale", "steps", "active", "refined")
    }


def test_the_export_repeats_the_picture(exploration, page, tmp_path, monkeypatch):
    move(page, "delta", 75)
    page.get_by_role("switch", name="reference 2").uncheck()
    with page.expect_download() as caught:
        page.click("#export")
    caught.value.save_as(tmp_path / "explored.zip")
    page.wait_for_selector("#command", state="visible")
    assert "manifuse refine --config run.toml" in page.inner_text("#command")
    move(page, "delta", 74)
    page.wait_for_selector("#command", state="hidden")
    move(page, "delta", 75)
    zipfile.ZipFile(tmp_path / "explored.zip").extractall(tmp_path)
    monkeypatch.chdir(tmp_path / "explored")
    seen, result = assert_shown(exploration, page)
    content = tomllib.loads((tmp_path / "explored" / "run.toml").read_text())
    assert (content["method"]["step_size"], content["method"]["ignored"]) == (seen["delta"], ["reference 2"])
    run_refine(read_options(RefineOptions, {"config": tmp_path / "explored" / "run.toml"}))
    with np.load("refined.npz") as again:
        np.testing.assert_array_equal(again["score"], result.predictions)


@pytest.mark.parametrize("kind", ["unlabelled", "paired", "regression"])
def test_problems_of_every_kind_are_shown(browser, kind):
    case = draw(3, features=kind != "unlabelled")
    exploration = explored(case, labels=kind == "regression")
    if kind == "paired":
        rng = np.random.default_rng(0)
        one, two = rng.permutation(160)[:80].reshape(2, 40)
        higher, lower = np.where(case.truth[one] > case.truth[two], [one, two], [two, one])
        labels = mf.RankLabels.from_pairs(case.main.keys[higher], case.main.keys[lower])
        exploration = replace(exploration, labels=labels)
    if kind == "regression":
        exploration = replace(exploration, method=mf.JointDiffusion(task="regression"))
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        open_page(page, client)
        assert_shown(exploration, page)
        move(page, "steps", 3)
        move(page, "delta", 70)
        assert_shown(exploration, page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.close()
        assert not said


@pytest.mark.parametrize("kind", ["GradedRanking", "PairedRanking", "SquaredError"])
def test_scores_of_the_page_are_those_of_the_library_with_ties(page, kind, rng):
    values = np.round(rng.standard_normal((2, 30)), 1)
    labels = rng.integers(0, 5, 30).astype(float)
    better, worse = rng.permutation(30).reshape(2, 15)
    score = {
        "GradedRanking": GradedRanking(np.arange(30), labels),
        "PairedRanking": PairedRanking(np.arange(30), better, worse),
        "SquaredError": SquaredError(np.arange(30), labels),
    }[kind]
    found = page.evaluate(
        """async ([kind, labels, better, worse, before, after]) => {
            const { scoreOf } = await import("/scores.js");
            const arrays = { x_grades: labels, x_targets: labels, x_better: better, x_worse: worse, x_rows: labels };
            const score = scoreOf({ x: kind }, arrays, "x");
            return { height: score.evaluate(after), gain: score.gain(before, after) };
        }""",
        [kind, labels.tolist(), better.tolist(), worse.tolist(), *values.tolist()],
    )
    gain = score.gain(*values)
    assert found["height"] == pytest.approx(float(score.evaluate(values[1][:, None])[0]), abs=1e-12)
    assert found["gain"]["value"] == pytest.approx(gain.value, abs=1e-12)
    assert found["gain"]["error"] == pytest.approx(gain.standard_error, abs=1e-12)


def test_probabilities_are_shown_as_they_came_and_as_refine_gives_them(browser):
    case = draw(1)
    chances = np.round(expit(4.0 * case.main.scores), 2)
    chances[:2] = 0.0, 1.0
    case = replace(case, main=remade(case.main, predictions=chances, scale="probability"))
    exploration = explored(case)
    result = refined(exploration)
    with serving(Page(exploration, partial(export_tables, exploration))) as client:
        page = browser.new_page()
        open_page(page, client, view="result")
        for row in (0, 1, 7):
            page.fill("#find", case.main.keys[row])
            pattern = r"score (\S+) before, (\S+) after;.*standard error (\d+(?:\.\d+)?)"
            said = [float(number) for number in re.search(pattern, page.inner_text("#found")).groups()]
            expected = [chances[row], result.predictions[row], result.errors[row]]
            assert said == pytest.approx(expected, rel=6e-3, abs=1e-9)
        page.close()


def test_ranks_are_those_of_scipy(page, rng):
    crowded = np.append(np.round(rng.standard_normal(400), 1), [1e9, -1e9])
    for values in (rng.standard_normal(1000), crowded, np.zeros(5), np.array([3.0])):
        found = page.evaluate(
            "async (values) => Array.from((await import('/order.js')).ranksOf(Float64Array.from(values)))",
            values.tolist(),
        )
        assert found == rankdata(-values, method="min").tolist()


def test_eigenpairs_are_those_of_lapack(page, rng):
    for size in (1, 2, 5, 30):
        table = rng.standard_normal((50, size))
        matrix = table.T @ table
        found = page.evaluate(
            """async (matrix) => (await import('/diffusion.js')).eigenpairs(matrix).map(
                ({ value, vector }) => [value, ...vector])""",
            matrix.tolist(),
        )
        values, vectors = np.linalg.eigh(matrix)
        np.testing.assert_allclose([pair[0] for pair in found], values[::-1], rtol=1e-12, atol=1e-12 * values[-1])
        cosines = np.sum(vectors.T[::-1] * [pair[1:] for pair in found], axis=1)
        np.testing.assert_allclose(np.abs(cosines), 1.0, rtol=0, atol=1e-12)


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
