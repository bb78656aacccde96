"""The deep ranker: a network like RankNet on feature vectors (after Yang et al., section 3.2.1 A)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from manifuse.errors import InputError, require
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray

#: Widths of the hidden layers.
HIDDEN = (64, 32)

#: Weights (k', k) and biases (k',) of every layer.
Layers = list[tuple[FloatArray, FloatArray]]


@dataclass(kw_only=True, eq=False)
class DeepRanker:
    """Rank rows by a network that is trained on pairs with different labels and stopped early.

    A multilayer perceptron scores each row. The loss of a pair is ``log(1 + exp(-(f(x_i) - f(x_j))))`` where
    label i exceeds label j. This needs torch (the extra ``deep``).

    Parameters
    ----------
    rate : float
        Step size of Adam.
    decay : float
        Weight decay.
    epochs : int
        Upper bound on steps, each over ``pairs`` pairs.
    patience : int
        Steps without a better validation accuracy after which training ends.
    pairs : int
        Upper bound on the pairs of a step. If there are more, each step draws its own.
    random_state : int
        Draws the first weights and the pairs.

    Attributes
    ----------
    layers_ : list of (weights, biases)
        Of the step with the best validation accuracy.
    steps_ : int
        Steps taken.
    validation_accuracy_ : float
        At that step.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(30.0)[:, None] / 30
    >>> y = np.arange(30) // 10
    >>> DeepRanker(epochs=50).fit(X, y, (X, y)).predict(X).shape
    (30,)
    """

    rate: float = 6e-3
    decay: float = 1.0
    epochs: int = 300
    patience: int = 50
    pairs: int = 3_000
    random_state: int = 0

    def fit(self, X: Any, y: Any, validation: tuple[Any, Any]) -> Self:
        """Learn to order rows by their labels.

        Parameters
        ----------
        X : (l, d) array
        y : (l,) array of numbers
            Graded labels, larger is better.
        validation : pair of arrays
            Features and labels that decide when training stops.

        Raises
        ------
        InputError
            If a parameter is out of range.
        MissingExtraError
            If torch is not installed.
        """
        if not (self.rate > 0 and self.decay >= 0 and self.epochs >= 1 and self.patience >= 1 and self.pairs >= 1):
            raise InputError(f"{self} came, but a positive rate and counts of at least 1 were expected.")
        torch = require("torch", extra="deep", purpose="The deep ranker", of="manifuse-study")
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
        draws = np.random.RandomState(self.random_state)
        parameters = _draw_layers(torch, (X.shape[1], *HIDDEN, 1), draws)
        # A fused step is one call for all parameters; in networks this small the calls take most of the time.
        optimiser = torch.optim.AdamW(parameters, lr=self.rate, weight_decay=self.decay, fused=True)
        inputs = torch.as_tensor(X, dtype=torch.float32)
        better, worse = np.nonzero(y[:, None] > y[None, :])
        best, since, self.steps_ = -1.0, 0, 0
        while self.steps_ < self.epochs and since < self.patience:
            self.steps_ += 1
            upper, lower = _some_pairs(better, worse, self.pairs, draws)
            scores = _forward(torch, parameters, inputs)
            loss = torch.nn.functional.softplus(scores[lower] - scores[upper]).sum() / max(1, len(upper))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            arrays = [parameter.detach().numpy().astype(np.float64) for parameter in parameters]
            layers = list(zip(arrays[::2], arrays[1::2], strict=True))
            reached = _accuracy(layers, validation)
            since += 1
            if reached > best:
                self.layers_, best, since = layers, reached, 0
        self.validation_accuracy_ = best
        return self

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows, shape (q,); only their order and relative distances mean anything."""
        return _scores(self.layers_, np.asarray(X, dtype=np.float64))


def _draw_layers(torch: Any, widths: tuple[int, ...], draws: np.random.RandomState) -> list[Any]:
    """Weights and biases of all layers, initialised as He et al. propose."""
    values = []
    for inputs, outputs in pairwise(widths):
        values += [draws.standard_normal((outputs, inputs)) * np.sqrt(2.0 / inputs), np.zeros(outputs)]
    return [torch.tensor(value, dtype=torch.float32, requires_grad=True) for value in values]


def _forward(torch: Any, parameters: list[Any], values: Any) -> Any:
    """Scores (l,) of rows (l, d)."""
    *hidden, last = zip(parameters[::2], parameters[1::2], strict=True)
    for weights, biases in hidden:
        values = torch.relu(torch.nn.functional.linear(values, weights, biases))
    return torch.nn.functional.linear(values, *last)[:, 0]


def _some_pairs(
    better: IndexArray, worse: IndexArray, most: int, draws: np.random.RandomState
) -> tuple[IndexArray, IndexArray]:
    """All pairs, or ``most`` of them drawn with replacement."""
    if len(better) <= most:
        return better, worse
    chosen = draws.randint(len(better), size=most)
    return better[chosen], worse[chosen]


def _scores(layers: Layers, values: FloatArray) -> FloatArray:
    """Scores (q,) of rows (q, d), in double precision and without torch."""
    for weights, biases in layers[:-1]:
        values = np.maximum(values @ weights.T + biases, 0.0)
    weights, biases = layers[-1]
    return np.asarray((values @ weights.T + biases)[:, 0])


def _accuracy(layers: Layers, validation: tuple[Any, Any]) -> float:
    """Ranking accuracy on validation rows; one half if their labels are all equal."""
    values, labels = np.asarray(validation[0], dtype=np.float64), np.asarray(validation[1])
    return ranking_accuracy(labels, _scores(layers, values)) if len(np.unique(labels)) > 1 else 0.5
