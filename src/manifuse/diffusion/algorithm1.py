"""Algorithm1: the paper's method as a value, every hyperparameter a field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product, starmap
from typing import Any, Literal, TypeVar

import numpy as np

from manifuse.backends.neighbours import Search
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.diffusion.schemes import MOST_COUNTED, BridgeScheme, is_count, is_number
from manifuse.errors import InputError

Value = TypeVar("Value")

#: Characters of a refused value that a message repeats.
LONGEST = 200


@dataclass(frozen=True)
class Setting:
    """Hyperparameters of graphs and bridges, one value each, out of those that an `Algorithm1` offers."""

    neighbours: int
    score_scale: float
    bridge: BridgeScheme


#: Hyperparameters that are one value or several.
SEVERAL = ("score_scale", "step_size", "weight_scale", "neighbours", "bridge", "standardised")

#: Hyperparameters that are one of a few words.
WORDS: Mapping[str, tuple[str, ...]] = {
    "selection": ("held-out", "alignment"),
    "search": ("auto", "exact", "approximate"),
}


@dataclass(frozen=True)
class Algorithm1:
    """Algorithm 1 of the paper, with the choice of its graphs and bridges.

    A hyperparameter of the graphs and bridges is one value, or a tuple of values that ``selection`` chooses from.
    ``step_size`` and ``weight_scale`` are one value, or a tuple that labels choose from where Algorithm 1 is run by
    itself, as in the paper. As a part of `JointDiffusion` it has one value of each, because there labels teach.

    Parameters
    ----------
    neighbours : int or tuple of int
        Nearest neighbours in the feature graphs (N), at least 1; smaller tables use all their rows.
    score_scale : float or tuple of float
        Scale of the prediction weights in the feature graphs (``sigma_f^2`` and ``sigma_k^2``), in
        variances of the scores, positive; infinity leaves the predictions out of the graphs.
    bridge : ImplicitEuler, ExplicitEuler, or tuple of them
        How pairs become bridges, with their step size (``delta_B``) and, if explicit, sparsity (K).
    step_size : float or tuple of float
        Step size of the f-diffusion (delta), positive.
    weight_scale : float or tuple of float
        Scale of the reference weights (sigma²), positive.
    rounds : int
        Upper bound on joint rounds (T1).
    steps : int
        Steps of the f-diffusion in a round (T2). If labels choose, an upper bound: a round ends when its score on the
        labels stops rising.
    settled : float
        The rounds end when ``1 - <f(t + 1), f(t)>`` falls below this.
    anchored : bool
        Keep the main predictor, as the first round began with it, among the references, so that rounds do not drift
        away from it.
    smoothing : float
        Step size with which the current prediction is smoothed over its own graph, as one more reference; 0 leaves
        it out. It is also left out if the main table has no graph.
    ignore_chance : bool
        References that align with the main predictor no better than permuted pairs do have no say in ``selection``.
        Where Algorithm 1 is run by itself they get weight 0, and so do those that their bridge predicts no better.
    selection : {"held-out", "alignment"}
        How graphs and bridges are chosen: by how well bridges predict reference scores at pairs held
        out of them, averaged over references, or by the largest alignment (the paper's rule, which
        favours bridges that copy the main predictor).
    folds : int
        Folds of the held-out pairs, at least 2.
    standardised : bool or tuple of bool
        Whether every feature is brought to mean 0 and standard deviation 1 before distances are taken. With a
        tuple, held-out pairs choose for each table, also if ``selection`` is ``"alignment"``.
    search : {"auto", "exact", "approximate"}
        Nearest-neighbour search; with ``"auto"`` the size of the table decides.

    Raises
    ------
    InputError
        If a value is out of range.

    References
    ----------
    .. [1] Kim, K. I. and Chang, H. J. "Joint Manifold Diffusion for Combining Predictions on Decoupled Observations",
       CVPR 2019.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Algorithm1(neighbours=(5, 10, 20), step_size=1.0).neighbours
    (5, 10, 20)
    """

    neighbours: int | tuple[int, ...] = 10
    score_scale: float | tuple[float, ...] = 0.1
    bridge: BridgeScheme | tuple[BridgeScheme, ...] = ImplicitEuler()
    step_size: float | tuple[float, ...] = 1.0
    weight_scale: float | tuple[float, ...] = 0.3
    rounds: int = 20
    steps: int = 1
    settled: float = 3e-4
    anchored: bool = True
    smoothing: float = 10.0
    ignore_chance: bool = True
    selection: Literal["held-out", "alignment"] = "held-out"
    folds: int = 5
    standardised: bool | tuple[bool, ...] = (True, False)
    search: Search = "auto"

    def __post_init__(self) -> None:
        for name in SEVERAL:
            demand_value(name, getattr(self, name), getattr(self, name) != (), "one value or several")
        for name, least in (("neighbours", 1), ("rounds", 1), ("folds", 2), ("steps", 1)):
            self._demand(f"whole numbers from {least} to {MOST_COUNTED:,}", partial(is_count, smallest=least), name)
        self._demand("positive numbers", lambda each: is_number(each) and each > 0, *SEVERAL[:3])
        self._demand("finite numbers", lambda each: each != np.inf, "step_size")
        amounts = ("settled", "smoothing")
        self._demand("numbers of at least 0", lambda each: is_number(each) and 0 <= each < np.inf, *amounts)
        self._demand("0 or a number in [1e-6, 1e4]", lambda each: each == 0 or 1e-6 <= each <= 1e4, "smoothing")
        schemes = "ImplicitEuler(...) or ExplicitEuler(...), or a tuple of them"
        self._demand(schemes, lambda each: isinstance(each, BridgeScheme), "bridge")
        self._demand("True, False or a tuple of them", lambda each: isinstance(each, bool), "standardised")
        self._demand("True or False", lambda each: isinstance(each, bool), "anchored", "ignore_chance")
        for name, words in WORDS.items():
            self._demand(" or ".join(map(repr, words)), words.__contains__, name)

    def settings(self) -> tuple[Setting, ...]:
        """Every combination of the hyperparameters of graphs and bridges."""
        return tuple(starmap(Setting, product(*map(choices, (self.neighbours, self.score_scale, self.bridge)))))

    @property
    def grid(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Step sizes and weight scales of the f-diffusion."""
        return choices(self.step_size), choices(self.weight_scale)

    @property
    def has_one_cell(self) -> bool:
        """Whether there is one step size and one weight scale, so that labels need not choose."""
        return all(len(axis) == 1 for axis in self.grid)

    def _demand(self, expected: str, fits: Callable[[Any], bool], *names: str) -> None:
        for name in names:
            given = getattr(self, name)
            demand_value(name, given, all(map(fits, choices(given) if name in SEVERAL else (given,))), expected)


def demand_value(name: str, value: Any, fits: bool, expected: str) -> None:
    """Refuse the value of a hyperparameter that does not fit."""
    if not fits:
        shown = repr(value)
        shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
        raise InputError(f"{name}={shown} came, but {expected} were expected.")


def choices(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the candidates of a field: the values of a tuple, or the one value."""
    return value if isinstance(value, tuple) else (value,)
