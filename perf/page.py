"""Time the page of `manifuse explore` from slider to picture, in a real browser. The problem is simulated.

Usage: python perf/page.py [--moves N]

Prints a table and writes perf/page.csv. For each control it measures the milliseconds from the event to the first
frame that shows the result, and reports their median, 95th percentile and maximum. It does the same for the whole
surface, which is filled between frames.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import uvicorn
from machine import describe
from playwright.sync_api import sync_playwright

import manifuse as mf
from manifuse.page.exploration import Exploration
from manifuse.page.server import Export, Page
from manifuse.study.experiments.provenance import provenance, rows_csv

HERE = Path(__file__).parent
ROWS, REFERENCES, PAIRS, LABELLED = 30_000, 5, 200, 500
TARGET = "p95 at most 100 ms"

#: Moves one control at random and returns the milliseconds until its picture is shown, one number for each move.
MOVE = """async ([kind, moves]) => {
  const sliders = { "step size": "delta", "weight scale": "scale", "rounds": "steps" };
  const painted = () => new Promise((resume) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resume(performance.now());
    channel.port2.postMessage(0);
  }));
  const filled = async () => {
    while (!explored.space.surface.whole) await new Promise((resume) => setTimeout(resume, 1));
    return performance.now();
  };
  const switches = [...document.querySelectorAll("[role=switch]")];
  const taken = [];
  for (let move = 0; move < moves; move++) {
    const start = performance.now();
    if (kind in sliders) {
      const slider = document.getElementById(sliders[kind]);
      slider.value = Number(slider.min) + Math.floor(Math.random() * (slider.max - slider.min + 1));
      slider.dispatchEvent(new Event("input", { bubbles: true }));
    } else {
      switches[move % switches.length].click();
    }
    taken.push((kind === "surface after a switch" ? await filled() : await painted()) - start);
    await filled();
    await new Promise((resume) => setTimeout(resume, 20));
  }
  return taken;
}"""
CONTROLS = ("step size", "weight scale", "rounds", "switch", "surface after a switch")


def main() -> None:
    """Serve the problem, open it, and move its controls."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=100, help="how often to move each control")
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed, and the page is timed in it; install chromium.")
    page = Page(simulated(np.random.default_rng(0)), lambda method: Export("run.toml", b"", ""))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(page.application(), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            measured = measure(listening.getsockname()[1], chromium, options.moves)
        finally:
            server.should_exit = True
            thread.join()
            page.close()
    about = {"machine": describe(), **provenance()}
    rows = [{**summary(control, taken), **about} for control, taken in measured.items()]
    (HERE / "page.csv").write_bytes(rows_csv(rows))
    for row in rows:
        print(" | ".join(str(value) for value in row.values()))


def simulated(rng: np.random.Generator) -> Exploration:
    """Draw decoupled tables; each sees the latent points through features of its own."""
    names = [f"m{row}" for row in range(ROWS)]
    latent = rng.uniform(-1, 1, (ROWS, 3))
    truth = latent @ [1.0, 0.7, 0.4]
    main = mf.Observations(truth + 0.8 * rng.standard_normal(ROWS), features(latent, rng), ids=names, name="main")
    references = []
    for k in range(REFERENCES):
        theirs = rng.uniform(-1, 1, (ROWS, 3))
        shared = rng.permutation(ROWS)[:PAIRS]
        theirs[:PAIRS] = latent[shared]
        ids = [*(names[row] for row in shared), *(f"r{row}" for row in range(PAIRS, ROWS))]
        scores = theirs @ [1.0, 0.7, 0.4] + 0.3 * rng.standard_normal(ROWS)
        references.append(mf.Observations(scores, features(theirs, rng), ids=ids, name=f"reference {k + 1}"))
    grades = np.round(2 * truth[:LABELLED])
    method = mf.JointDiffusion(standardised=True)
    labels = mf.RankLabels(names[:LABELLED], grades)
    return Exploration("simulated, 30,000 rows", main, tuple(references), labels, method, seed=0)


def features(latent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Map latent points smoothly, and add a little noise."""
    return np.tanh(latent @ rng.standard_normal((3, 8))) + 0.02 * rng.standard_normal((len(latent), 8))


def measure(port: int, chromium: str, moves: int) -> dict[str, list[float]]:
    """Return the milliseconds of every move, by control."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector("#results[aria-busy=false]", timeout=600_000)
        page.check("#view-diffusion")  # whose controls are timed
        page.wait_for_selector("#surface button")
        page.evaluate(MOVE, ["step size", 5])
        taken = {control: page.evaluate(MOVE, [control, moves]) for control in CONTROLS}
        browser.close()
    return taken


def summary(control: str, taken: list[float]) -> dict[str, object]:
    """Return one row of the table."""
    median, high = np.percentile(taken, [50, 95])
    timed = control != CONTROLS[-1]
    return {
        "control": control,
        "rows": ROWS,
        "references": REFERENCES,
        "labelled": LABELLED,
        "moves": len(taken),
        "p50_ms": round(median, 1),
        "p95_ms": round(high, 1),
        "max_ms": round(max(taken), 1),
        "target": TARGET if timed else "",
        "reached": bool(high <= 100) if timed else "",
    }


if __name__ == "__main__":
    main()
