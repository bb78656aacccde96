"""Two workers for all tests that kill none, and tables that are cut although they are small."""

from __future__ import annotations

import distributed
import pytest

from manifuse.cluster import parts as parts_module


@pytest.fixture(scope="package")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts_module, "ROWS", 10)
