"""One large problem in blocks of rows, over workers that may die."""

from __future__ import annotations

import os
import signal

import distributed
import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.cluster import connection as connection_module
from manifuse.cluster.connection import Tasks
from manifuse.cluster.stored import OnDisk, loaded, stored
from manifuse.diffusion import graph, joint
from manifuse.diffusion.neighbours import Query

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:Sending large graph")


@pytest.fixture(scope="module")
def case():
    return draw(0)


def refined(case, place=None, **options):
    # Few and short series: every product is a round of tasks.
    brief = {"bridge": mf.ImplicitEuler(1.0, tolerance=1e-3), "rounds": 2, "smoothing": 0.5, "folds": 2}
    method = mf.JointDiffusion(presmoothed=False, standardised=True, **brief | options)
    return mf.refine(case.main, case.references, case.labels(), method, rng=0, place=place)


@pytest.mark.parametrize("large", [False, True])
def test_the_cluster_finds_what_one_machine_finds(client, case, large, monkeypatch):
    if large:
        monkeypatch.setattr(graph, "ORDERED_ROWS", 10)
        monkeypatch.setattr(graph, "LARGE_ROWS", 10)
        monkeypatch.setattr(joint, "LARGE_ROWS", 10)
    here, there = refined(case), refined(case, mf.Cluster(client))
    np.testing.assert_allclose(there.predictions, here.predictions, atol=1e-8)
    np.testing.assert_allclose(there.support, here.support, atol=1e-8)
    later = mf.Observations(case.main.scores[:5], case.main.table[:5] + 0.01, ids=range(5))
    np.testing.assert_allclose(there.apply(later), here.apply(later), atol=1e-8)


def test_the_explicit_scheme_brings_the_rows_together(client, case):
    method = {"bridge": mf.ExplicitEuler(step=0.3, steps=2)}
    there = refined(case, mf.Cluster(client), **method)
    np.testing.assert_allclose(there.predictions, refined(case, **method).predictions, atol=1e-8)


def test_features_on_disk_are_read_by_the_workers(client, case, tmp_path):
    np.save(tmp_path / "main.npy", case.main.table)
    on_disk = np.load(tmp_path / "main.npy", mmap_mode="r")
    table = mf.Observations(case.main.scores, on_disk, ids=case.main.keys).table
    some = stored(table, slice(3, 9))
    assert isinstance(some, OnDisk)
    np.testing.assert_array_equal(some.load(), case.main.table[3:9])
    # A part of a file is not the file.
    assert isinstance(stored(on_disk[2:], slice(0, 3)), np.ndarray)
    found, expected = (
        mf.Cluster(client).search(features, Query(5, True), None) for features in (table, case.main.table)
    )
    np.testing.assert_array_equal(found.indices, expected.indices)


def test_a_saved_refinement_needs_no_cluster(client, case, tmp_path):
    result = refined(case, mf.Cluster(client))
    mf.save(result, tmp_path / "model.npz")
    later = mf.Observations(case.main.scores[:5], case.main.table[:5] + 0.01, ids=range(5))
    np.testing.assert_allclose(mf.load(tmp_path / "model.npz").apply(later), result.apply(later), atol=1e-12)


def test_blocks_cover_all_rows_and_none_is_empty(client):
    place = mf.Cluster(client)
    for rows in (3, 8, 1001):
        blocks = place.split(rows)
        assert [row for block in blocks for row in range(rows)[block]] == list(range(rows))
        assert len(blocks) == min(rows, 8)


def test_equal_rows_are_refused_by_the_sentence_of_one_machine(client):
    with pytest.raises(mf.InputError, match="All feature rows of it are equal"):
        mf.Cluster(client).search(np.ones((9, 2)), Query(3, True, "it"), None)


def test_a_worker_that_is_killed_is_survived(case, monkeypatch):
    """In the middle of a recurrence one of the two workers goes, with its matrix and its rows of every block."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    expected = refined(case).predictions
    start, calls = Tasks.start, []
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:

        def deadly(tasks, wanted):
            calls.append(len(wanted))
            if len(calls) == 40:
                # What it is to lose is there.
                distributed.wait(held)
                victims = client.run(os.getpid)
                os.kill(next(iter(victims.values())), signal.SIGKILL)
            held[:] = start(tasks, wanted)
            return list(held)

        held = []
        monkeypatch.setattr(Tasks, "start", deadly)
        found = refined(case, mf.Cluster(client)).predictions
        assert len(calls) > 60
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_file_that_was_changed_in_memory_is_not_read_from_disk(client, case, tmp_path):
    np.save(tmp_path / "main.npy", case.main.table)
    changed = np.load(tmp_path / "main.npy", mmap_mode="c")
    changed -= 5
    np.testing.assert_array_equal(loaded(stored(changed)), case.main.table - 5)


def test_a_file_that_no_worker_sees_is_said(client, case, tmp_path):
    np.save(tmp_path / "main.npy", case.main.table)
    on_disk = np.load(tmp_path / "main.npy", mmap_mode="r")
    (tmp_path / "main.npy").unlink()
    with pytest.raises(mf.InputError, match=r"A worker cannot read .*main\.npy"):
        mf.Cluster(client).search(on_disk, Query(3, True), None)


def test_a_scheduler_without_workers_is_refused(monkeypatch):
    monkeypatch.setattr(connection_module, "PATIENCE", 0.2)
    options = {"n_workers": 0, "dashboard_address": ":0"}
    refused = pytest.raises(mf.InputError, match="has no workers")
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client, refused:
        mf.Cluster(client)
