"""Views of the digits: six tables of features, computed from 1,797 images that come with scikit-learn.

The images are optical digits of 8 x 8 pixels. We compute the views from the pixels, after those of the paper's
handwritten digits (HW).
"""

from collections.abc import Callable, Mapping
from math import comb

import numpy as np
from sklearn.datasets import load_digits

from manifuse.kernels.arrays import FloatArray

SIDE = 8
ZERNIKE_ORDER = 8
COMPONENTS = 16
ORIENTATIONS = 8


def digit_views() -> tuple[dict[str, FloatArray], FloatArray]:
    """Compute the views.

    Returns
    -------
    views : dict of str to (1797, d) array
        By their names in ``VIEWS``, of 16 to 78 features.
    digits : (1797,) array
        What each image shows, 0 to 9.
    """
    bunch = load_digits()
    images = np.asarray(bunch.images, dtype=np.float64)
    return {name: view(images) for name, view in VIEWS.items()}, np.asarray(bunch.target, dtype=np.float64)


def fourier(images: FloatArray) -> FloatArray:
    """Magnitudes of the two-dimensional Fourier coefficients, which do not depend on where the digit is."""
    return np.abs(np.fft.rfft2(images)).reshape(len(images), -1)


def profile(images: FloatArray) -> FloatArray:
    """Ink summed along rows, columns and both diagonals, and the depth of the first ink from each side."""
    offsets = range(-SIDE + 1, SIDE)
    diagonals = [
        np.stack([seen.trace(offset, axis1=1, axis2=2) for offset in offsets], axis=1)
        for seen in (images, images[:, :, ::-1])
    ]
    ink = images > images.mean()
    sides = (ink, ink[:, :, ::-1], ink.transpose(0, 2, 1), ink.transpose(0, 2, 1)[:, :, ::-1])
    depths = [np.where(side.any(axis=2), side.argmax(axis=2), SIDE) for side in sides]
    return np.hstack([images.sum(axis=1), images.sum(axis=2), *diagonals, *depths]).astype(np.float64)


def karhunen(images: FloatArray) -> FloatArray:
    """Scores on the first 16 principal components of the pixels."""
    flat = images.reshape(len(images), -1)
    left, values, _ = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)
    return np.asarray(left[:, :COMPONENTS] * values[:COMPONENTS])


def pixels(images: FloatArray) -> FloatArray:
    """Averages in windows of 2 x 2 pixels."""
    half = SIDE // 2
    return np.asarray(images.reshape(-1, half, 2, half, 2).mean(axis=(2, 4)).reshape(len(images), -1))


def zernike(images: FloatArray) -> FloatArray:
    """Magnitudes of the Zernike moments up to order 8, which do not depend on how the digit is rotated."""
    axis = (np.arange(SIDE) - (SIDE - 1) / 2) / (SIDE / 2)
    x, y = np.meshgrid(axis, axis)
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    inside = radius <= 1.0
    moments = []
    for order in range(ZERNIKE_ORDER + 1):
        for repetition in range(order % 2, order + 1, 2):
            basis = np.where(inside, _radial(order, repetition, radius) * np.exp(-1j * repetition * angle), 0.0)
            moments.append(np.abs(np.tensordot(images, basis, axes=2)))
    return np.stack(moments, axis=1)


def gradient(images: FloatArray) -> FloatArray:
    """Gradient strength by orientation (8 bins) in each quarter of the image."""
    down, right = np.gradient(images, axis=(1, 2))
    strength = np.hypot(down, right)
    angle = np.arctan2(down, right) / (2 * np.pi) % 1.0
    bins = np.minimum((angle * ORIENTATIONS).astype(int), ORIENTATIONS - 1)
    half = SIDE // 2
    quarters = [(slice(None), slice(a, a + half), slice(b, b + half)) for a in (0, half) for b in (0, half)]
    columns = [
        np.where(bins[quarter] == orientation, strength[quarter], 0.0).sum(axis=(1, 2))
        for quarter in quarters
        for orientation in range(ORIENTATIONS)
    ]
    return np.stack(columns, axis=1)


def _radial(order: int, repetition: int, radius: FloatArray) -> FloatArray:
    """Zernike's radial polynomial."""
    total = np.zeros_like(radius)
    for s in range((order - repetition) // 2 + 1):
        factor = (-1) ** s * comb(order - s, s) * comb(order - 2 * s, (order - repetition) // 2 - s)
        total += factor * radius ** (order - 2 * s)
    return total


#: The views by their names: functions from images (n, 8, 8) to features (n, d).
VIEWS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    view.__name__: view for view in (fourier, profile, karhunen, pixels, zernike, gradient)
}
