"""Rotations: how the columns of one predictor become those of another (orthogonal Procrustes, Schönemann 1966)."""

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import on_sphere

#: How much the rotation that is known beforehand counts, where a perfect agreement of all columns counts 1.
KNOWN = 3.0


def rotation(theirs: FloatArray, ours: FloatArray, known: FloatArray) -> FloatArray:
    """The rotation of their columns that agrees most with ours.

    Parameters
    ----------
    theirs, ours : (p, c') and (p, c) array
        Predictions of the same rows.
    known : (c', c) array
        What is known of the rotation; zeros where nothing is.

    Returns
    -------
    (c', c) array
        With orthonormal columns, or rows if there are fewer of these.
    """
    agreement = on_sphere(theirs).T @ on_sphere(ours) + KNOWN * known / known.shape[1]
    left, _, right = np.linalg.svd(agreement, full_matrices=False)
    return np.asarray(left @ right)
