"""Shared fixtures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def browser():
    """A browser, or skip the test."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium is installed, so no page is opened")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The engine of a Dask cluster of one worker. It ends with the file of tests, because it takes time while idle."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as started:
        yield started.scheduler_address.replace("tcp://", "dask://")


@pytest.fixture(scope="session")
def data() -> Path:
    """The data folder, or skip the test and say where the folder was expected."""
    named = os.environ.get("MANIFUSE_DATA")
    folder = Path(named) if named else Path(__file__).parents[1] / "shared" / "data"
    if not (folder / "hw" / "mfeat.npz").is_file():
        pytest.skip(f"no hw/mfeat.npz in {folder}; name the data folder in MANIFUSE_DATA")
    return folder
