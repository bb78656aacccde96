"""What a tuned rival learned."""

from __future__ import annotations

from dataclasses import dataclass

from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class RefittableLesson:
    """The best predictions over the grid of a rival.

    Attributes
    ----------
    predictions : (n,) array
    validation_accuracy : float
    hyperparameters : dict
    """

    predictions: FloatArray
    validation_accuracy: float
    hyperparameters: dict[str, object]
