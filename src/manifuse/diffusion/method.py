"""JointDiffusion: the method as a value, every hyperparameter of the paper a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import product
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

from manifuse.backends.neighbours import Search
from manifuse.diffusion.schemes import MOST_COUNTED, BridgeScheme, ExplicitEuler, ImplicitEuler
from manifuse.errors import InputError

Value = TypeVar("Value")

#: With labels and nothing else said, (delta, sigma²) is chosen from this grid of 8 by 7 cells.
STEP_SIZES = tuple(float(value) for value in np.logspace(-2, 2, 8))
WEIGHT_SCALES = tuple(float(value) for value in np.logspace(-2, 1, 7))

#: Without labels there is nothing to choose by: these stand (docs/decisions.md).
UNLABELLED_STEP_SIZE, UNLABELLED_WEIGHT_SCALE = 1.0, 0.3

#: Characters of a refused value that a sentence repeats.
LONGEST = 200

#: With labels a round goes on while its score rises, up to this many steps.
LABELLED_STEPS = 20


@dataclass(frozen=True)
class Setting:
    """Hyperparameters of graphs and bridges, each one number: what `JointDiffusion` offers, decided."""

    neighbours: int
    score_scale: float
    bridge: BridgeScheme[Any]


@dataclass(frozen=True)
class JointDiffusion:
    """Joint manifold diffusion (Algorithm 1).

    Hyperparameters of the graphs and bridges are a number, or a tuple of numbers to choose from by
    ``selection``. Those of the f-diffusion are a number, or a tuple to choose from by the labels.

    Parameters
    ----------
    neighbours : int or tuple of int
        Nearest neighbours in the feature graphs (N), at least 1; tables with fewer rows use all.
    score_scale : float or tuple of float
        Scale of the prediction weights in the feature graphs (``sigma_f^2`` and ``sigma_k^2``), in
        variances of the scores; infinity leaves the predictions out of the graphs.
    bridge : ImplicitEuler, ExplicitEuler, or tuple of them
        How pairs become bridges, with their step size (``delta_B``) and, if explicit, sparsity (K).
    step_size : float, tuple of float, or None
        Step size of the f-diffusion (delta), positive. None: chosen by the labels from eight values in
        [0.01, 100]; 1 without labels.
    weight_scale : float, tuple of float, or None
        Scale of the reference weights (sigma²), positive. None: chosen by the labels from seven values
        in [0.01, 10]; 0.3 without labels.
    rounds : int
        Upper bound on joint rounds (T1).
    steps : int or None
        Upper bound on steps of the f-diffusion in a round (T2); without labels, their number. None: twenty with
        labels, one without.
    settled : float
        Without labels, the rounds end when ``1 - <f(t + 1), f(t)>`` falls below this.
    anchored : bool
        Keep what the rounds began with, the main predictor, among the references, so that they cannot drift away.
    presmoothed : bool
        With labels and features of the main table, start from the main predictor smoothed over its own graph,
        in the way and as far as the labels say.
    smoothing : float
        Step size with which the current prediction is smoothed over its own graph, to join the references;
        0 leaves it out, as does a main table without a graph.
    ignore_chance : bool
        Give weight 0 to references that align with the main predictor, or cross their bridge, no
        better than permuted pairs do.
    ignored : tuple of str
        Names of references that get weight 0 whatever the pairs say of them.
    selection : {"held-out", "alignment"}
        How graphs and bridges are chosen: by how well bridges predict reference scores at pairs held
        out of them, averaged over references, or by the largest alignment (the paper's rule, which
        favours bridges that copy the main predictor).
    folds : int
        Folds of the held-out pairs, at least 2.
    standardised : bool or tuple of bool
        Whether every feature is brought to mean 0 and standard deviation 1 before distances are taken. A
        tuple: chosen for each table by the pairs held out, whatever ``selection`` says.
    search : {"auto", "exact", "approximate"}
        Nearest-neighbour search; ``"auto"`` goes by the size of the table.
    task : {"ranking", "regression"}
        What labels measure: ranking accuracy, or root mean squared error.
    safeguarded : bool
        With labels, return the main predictor unchanged unless the gain exceeds its standard error.

    Raises
    ------
    InputError
        If a value is out of range.

    References
    ----------
    .. [1] Kim, K. I. and Chang, H. J. "Joint Manifold Diffusion for Combining Predictions on Decoupled
       Observations", CVPR 2019.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.JointDiffusion(neighbours=(5, 10, 20), step_size=1.0).neighbours
    (5, 10, 20)
    """

    neighbours: int | tuple[int, ...] = 10
    score_scale: float | tuple[float, ...] = 0.1
    bridge: BridgeScheme[Any] | tuple[BridgeScheme[Any], ...] = ImplicitEuler()
    step_size: float | tuple[float, ...] | None = None
    weight_scale: float | tuple[float, ...] | None = None
    rounds: int = 20
    steps: int | None = None
    settled: float = 3e-4
    anchored: bool = True
    presmoothed: bool = True
    smoothing: float = 10.0
    ignore_chance: bool = True
    ignored: tuple[str, ...] = ()
    selection: Literal["held-out", "alignment"] = "held-out"
    folds: int = 5
    standardised: bool | tuple[bool, ...] = (True, False)
    search: Search = "auto"
    task: Literal["ranking", "regression"] = "ranking"
    safeguarded: bool = True

    def __post_init__(self) -> None:
        for name in ("neighbours", "score_scale", "bridge", "standardised", "step_size", "weight_scale"):
            if getattr(self, name) == ():
                self._refuse(name, "at least one value")
        self._demand_whole("neighbours", choices(self.neighbours), least=1)
        for name, least in {"rounds": 1, "steps": 1, "folds": 2}.items():
            if name != "steps" or self.steps is not None:
                self._demand_whole(name, (getattr(self, name),), least=least)
        for name in ("score_scale", "step_size", "weight_scale"):
            value = getattr(self, name)
            if value is not None and any(not (is_number(number) and number > 0) for number in choices(value)):
                self._refuse(name, "positive numbers")
        if self.step_size is not None and np.inf in choices(self.step_size):
            self._refuse("step_size", "finite numbers")
        for name in ("settled", "smoothing"):
            value = getattr(self, name)
            if not (is_number(value) and 0 <= value < np.inf):
                self._refuse(name, "a number of at least 0")
        if self.smoothing and not 1e-6 <= self.smoothing <= 1e4:
            self._refuse("smoothing", "0 or a number in [1e-6, 1e4]")
        if any(not isinstance(scheme, BridgeScheme) for scheme in choices(self.bridge)):
            self._refuse("bridge", "ImplicitEuler(...) or ExplicitEuler(...), or a tuple of them")
        if any(not isinstance(flag, bool) for flag in choices(self.standardised)):
            self._refuse("standardised", "True, False or a tuple of them")
        for name in ("anchored", "presmoothed", "ignore_chance", "safeguarded"):
            if not isinstance(getattr(self, name), bool):
                self._refuse(name, "True or False")
        if not isinstance(self.ignored, tuple) or any(not isinstance(name, str) for name in self.ignored):
            self._refuse("ignored", "a tuple of names")
        allowed = {
            "selection": ("held-out", "alignment"),
            "search": ("auto", "exact", "approximate"),
            "task": ("ranking", "regression"),
        }
        for name, words in allowed.items():
            if getattr(self, name) not in words:
                self._refuse(name, " or ".join(repr(word) for word in words))

    @classmethod
    def as_published(cls) -> JointDiffusion:
        """Return the method as the paper runs it: explicit bridges, its tuning rule, none of our additions.

        The paper names no candidates for N, K and sigma_f²; these are ours.
        """
        return cls(
            neighbours=(5, 10, 20),
            score_scale=(0.1, 0.3, 1.0),
            bridge=tuple(ExplicitEuler(keep=keep) for keep in (5, 10, 20)),
            anchored=False,
            presmoothed=False,
            smoothing=0.0,
            ignore_chance=False,
            selection="alignment",
            standardised=True,
            safeguarded=False,
        )

    @property
    def is_regression(self) -> bool:
        """Whether the labels are values to be met, and not only an order."""
        return self.task == "regression"

    def most_steps(self, *, labelled: bool) -> int:
        """Upper bound on steps of the f-diffusion in a round."""
        if self.steps is not None:
            return self.steps
        return LABELLED_STEPS if labelled else 1

    def settings(self) -> tuple[Setting, ...]:
        """Every combination of the hyperparameters of graphs and bridges."""
        return tuple(
            Setting(*combination)
            for combination in product(choices(self.neighbours), choices(self.score_scale), choices(self.bridge))
        )

    def grid(self, *, labelled: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Step sizes and weight scales of the f-diffusion.

        Raises
        ------
        InputError
            If there is more than one cell and no labels to choose by.
        """
        steps, scales = self.step_size, self.weight_scale
        if steps is None:
            steps = STEP_SIZES if labelled else UNLABELLED_STEP_SIZE
        if scales is None:
            scales = WEIGHT_SCALES if labelled else UNLABELLED_WEIGHT_SCALE
        if not labelled and len(choices(steps)) * len(choices(scales)) > 1:
            raise InputError(
                "Several values of step_size or weight_scale came without labels to choose by; "
                "give labels, or one value of each."
            )
        return choices(steps), choices(scales)

    def _demand_whole(self, name: str, values: tuple[object, ...], *, least: int) -> None:
        if any(
            not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least for value in values
        ):
            self._refuse(name, f"whole numbers of at least {least}")
        if any(value > MOST_COUNTED for value in values):  # type: ignore[operator]
            self._refuse(name, f"whole numbers of at most {MOST_COUNTED}")

    def _refuse(self, name: str, expected: str) -> None:
        shown = repr(getattr(self, name))
        shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
        raise InputError(f"{name}={shown} came, but {expected} were expected.")


def choices(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the candidates that a field holds: itself, or the values of its tuple."""
    return value if isinstance(value, tuple) else (value,)


def is_number(value: object) -> bool:
    """Whether a value is a real number in the range of floats, or infinite, and no truth value."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def field_names() -> Sequence[str]:
    """Names of the hyperparameters."""
    return [field.name for field in fields(JointDiffusion)]
