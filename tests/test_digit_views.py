"""Views of the digits by what is known of them."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from manifuse.datasets.digit_views import digit_views, fourier, karhunen, pixels, profile, zernike


def test_every_view_of_the_digits_knows_something_of_them():
    views, digits = digit_views()
    assert len(digits) == 1797
    for name, view in views.items():
        assert view.shape[0] == 1797
        assert np.isfinite(view).all()
        table = (view - view.mean(axis=0)) / np.where(view.std(axis=0) > 0, view.std(axis=0), 1.0)
        neighbours = KNeighborsClassifier(1).fit(table[::2], digits[::2])
        assert neighbours.score(table[1::2], digits[1::2]) > 0.7, name


def test_fourier_magnitudes_forget_a_cyclic_shift():
    images = load_digits().images[:20]
    np.testing.assert_allclose(fourier(np.roll(images, (2, 3), axis=(1, 2))), fourier(images), atol=1e-9)


def test_zernike_magnitudes_forget_a_quarter_turn():
    images = load_digits().images[:20]
    np.testing.assert_allclose(zernike(np.rot90(images, axes=(1, 2))), zernike(images), atol=1e-9)
    assert zernike(images).shape == (20, 25)


def test_karhunen_is_principal_component_analysis():
    images = load_digits().images
    expected = PCA(16, svd_solver="full").fit_transform(images.reshape(len(images), -1))
    np.testing.assert_allclose(np.abs(karhunen(images)), np.abs(expected), atol=1e-8)


def test_profiles_and_averages_keep_the_ink():
    images = load_digits().images[:20]
    ink = images.sum(axis=(1, 2))
    sums = profile(images)
    for block in (slice(0, 8), slice(8, 16), slice(16, 31), slice(31, 46)):
        np.testing.assert_allclose(sums[:, block].sum(axis=1), ink)
    np.testing.assert_allclose(4 * pixels(images).sum(axis=1), ink)
