"""The deep ranker: a network of RankNet's kind on feature vectors (after Yang et al., section 3.2.1 A)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from manifuse.errors import InputError, require
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.ranking.accuracy import ranking_accuracy

#: Share of the rows that stops the training where no validation rows are given.
HELD_OUT = 0.2


class DeepRanker(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Rank rows by a network trained on pairs with different labels, stopped early.

    A multilayer perceptron scores each row; the loss of a pair is ``log(1 + exp(-(f(x_i) - f(x_j))))`` where
    label i exceeds label j. Needs torch (the extra ``deep``).

    Parameters
    ----------
    hidden : tuple of int
        Widths of the hidden layers.
    rate : float
        Step size of Adam.
    decay : float
        Weight decay.
    epochs : int
        Upper bound on steps, each over ``pairs`` pairs.
    patience : int
        Steps without a better validation accuracy after which training ends.
    pairs : int
        Upper bound on the pairs of a step; drawn anew for each where there are more.
    random_state : int
        Draws the first weights, the dropped units and the pairs.

    Attributes
    ----------
    layers_ : list of (weights, biases)
        Arrays of the step with the best validation accuracy.
    steps_ : int
        Steps taken.
    validation_accuracy_ : float
        At the step kept.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(30.0)[:, None] / 30
    >>> DeepRanker(epochs=50).fit(X, np.arange(30) // 10).predict(X).shape
    (30,)
    """

    def __init__(
        self,
        hidden: tuple[int, ...] = (64, 32),
        *,
        rate: float = 6e-3,
        decay: float = 1.0,
        epochs: int = 300,
        patience: int = 50,
        pairs: int = 3_000,
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.rate = rate
        self.decay = decay
        self.epochs = epochs
        self.patience = patience
        self.pairs = pairs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, validation: tuple[Any, Any] | None = None) -> Self:
        """Learn to order rows by their labels.

        Parameters
        ----------
        X : (l, d) array
        y : (l,) array of numbers
            Graded labels, larger is better.
        validation : pair of arrays, optional
            Features and labels that stop the training; by default a fifth of the rows.

        Raises
        ------
        InputError
            If a parameter is out of range.
        MissingExtraError
            If torch is not installed.
        """
        if not (self.rate > 0 and self.decay >= 0 and self.epochs >= 1 and self.patience >= 1 and self.pairs >= 1):
            raise InputError(f"{self} came, but a positive rate and counts of at least 1 were expected.")
        torch = require("torch", extra="deep", purpose="The deep ranker")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        draws = check_random_state(self.random_state)
        if validation is None:
            held, kept = np.split(draws.permutation(len(X)), [max(1, int(HELD_OUT * len(X)))])
            X, y, validation = X[kept], y[kept], (X[held], y[held])
        self._train(torch, X, y, validation, draws)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows, shape (q,); only their order and relative distances mean anything."""
        check_is_fitted(self)
        values: FloatArray = validate_data(self, X, reset=False, dtype=np.float64)
        for weights, biases in self.layers_[:-1]:
            values = np.maximum(values @ weights.T + biases, 0.0)
        weights, biases = self.layers_[-1]
        return np.asarray((values @ weights.T + biases)[:, 0])

    def _train(
        self, torch: Any, X: FloatArray, y: FloatArray, validation: tuple[Any, Any], draws: np.random.RandomState
    ) -> None:
        parameters = _draw_layers(torch, (X.shape[1], *self.hidden, 1), draws)
        # A fused step is one call for all parameters; on networks this small the calls are what takes the time.
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


def _draw_layers(torch: Any, widths: tuple[int, ...], draws: np.random.RandomState) -> list[Any]:
    """Weights and biases of all layers, He's way."""
    values = []
    for given, made in pairwise(widths):
        values += [draws.standard_normal((made, given)) * np.sqrt(2.0 / given), np.zeros(made)]
    return [torch.tensor(value, dtype=torch.float32, requires_grad=True) for value in values]


def _forward(torch: Any, parameters: list[Any], values: Any) -> Any:
    """Scores (l,) of rows (l, d)."""
    last = len(parameters) - 2
    for place in range(0, len(parameters), 2):
        values = torch.nn.functional.linear(values, parameters[place], parameters[place + 1])
        values = torch.relu(values) if place < last else values[:, 0]
    return values


def _some_pairs(
    better: IndexArray, worse: IndexArray, most: int, draws: np.random.RandomState
) -> tuple[IndexArray, IndexArray]:
    """All pairs, or as many as allowed, drawn."""
    if len(better) <= most:
        return better, worse
    chosen = draws.randint(len(better), size=most)
    return better[chosen], worse[chosen]


def _accuracy(layers: list[tuple[FloatArray, FloatArray]], validation: tuple[Any, Any]) -> float:
    """Ranking accuracy on validation rows; one half where their labels are all equal."""
    values, labels = np.asarray(validation[0], dtype=np.float64), np.asarray(validation[1])
    if len(np.unique(labels)) < 2:
        return 0.5
    for weights, biases in layers[:-1]:
        values = np.maximum(values @ weights.T + biases, 0.0)
    weights, biases = layers[-1]
    return ranking_accuracy(labels, (values @ weights.T + biases)[:, 0])
