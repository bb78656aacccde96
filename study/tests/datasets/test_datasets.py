"""Datasets by what is known of them."""

import numpy as np

from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.synthetic import toy_tasks


def test_the_data_folder_is_as_given_else_as_named(tmp_path, monkeypatch):
    monkeypatch.setenv("MANIFUSE_DATA", str(tmp_path / "named"))
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == tmp_path / "named"
    monkeypatch.delenv("MANIFUSE_DATA")
    assert data_folder().name == "manifuse"


def test_the_toy_tasks_have_the_structure_of_the_paper():
    toy = toy_tasks(np.random.default_rng(0))
    metric = toy.true_metric()
    for group in (slice(0, 4), slice(4, 8)):
        assert metric[group, group].min() > 0.9
    assert metric[8:, :8].max() < 0.5
    tables = toy.decoupled
    common = set.intersection(*(set(table.keys) for table in tables))
    assert {str(row) for row in range(30)} <= common
    assert all(len(table) == 500 for table in tables)
    widths = {table.table.shape[1] for table in tables}
    assert len(widths) > 1
    assert min(widths) >= 80
