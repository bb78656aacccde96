"""Datasets by what is known of them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from manifuse.study.datasets.dataset import data_folder
from manifuse.study.datasets.digits import digits, fourier, karhunen_loeve, pixel_averages, profile, zernike
from manifuse.study.datasets.synthetic import toy_tasks


@pytest.fixture(scope="module")
def optical():
    return digits()


def test_every_view_of_the_digits_knows_something_of_them(optical):
    assert len(optical) == 1797
    for name, task in optical.tasks.items():
        view = task.features
        assert view.shape[0] == 1797
        assert np.isfinite(view).all()
        table = (view - view.mean(axis=0)) / np.where(view.std(axis=0) > 0, view.std(axis=0), 1.0)
        neighbours = KNeighborsClassifier(1).fit(table[::2], task.labels[::2])
        assert neighbours.score(table[1::2], task.labels[1::2]) > 0.7, name


def test_fourier_magnitudes_forget_a_cyclic_shift():
    images = load_digits().images[:20]
    np.testing.assert_allclose(fourier(np.roll(images, (2, 3), axis=(1, 2))), fourier(images), atol=1e-9)


def test_zernike_magnitudes_forget_a_quarter_turn():
    images = load_digits().images[:20]
    np.testing.assert_allclose(zernike(np.rot90(images, axes=(1, 2))), zernike(images), atol=1e-9)
    assert zernike(images).shape == (20, 25)


def test_karhunen_loeve_is_principal_component_analysis():
    images = load_digits().images
    expected = PCA(16, svd_solver="full").fit_transform(images.reshape(len(images), -1))
    np.testing.assert_allclose(np.abs(karhunen_loeve(images)), np.abs(expected), atol=1e-8)


def test_profiles_and_averages_keep_the_ink():
    images = load_digits().images[:20]
    ink = images.sum(axis=(1, 2))
    sums = profile(images)
    for block in (slice(0, 8), slice(8, 16), slice(16, 31), slice(31, 46)):
        np.testing.assert_allclose(sums[:, block].sum(axis=1), ink)
    np.testing.assert_allclose(4 * pixel_averages(images).sum(axis=1), ink)


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
