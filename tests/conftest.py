"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def rng():
    import numpy as np

    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data() -> Path:
    """The data folder, or skip the test and say where the folder was expected."""
    named = os.environ.get("MANIFUSE_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not (folder / "hw" / "mfeat.npz").is_file():
        pytest.skip(f"no hw/mfeat.npz in {folder}; name the data folder in MANIFUSE_DATA")
    return folder
