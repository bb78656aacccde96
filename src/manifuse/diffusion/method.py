"""JointDiffusion: the method as a value, every hyperparameter of the paper a field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

from manifuse.backends.neighbours import Search
from manifuse.diffusion.explicit_euler import ExplicitEuler
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.diffusion.schemes import MOST_COUNTED, BridgeScheme
from manifuse.errors import InputError
from manifuse.records import Saved

Value = TypeVar("Value")

#: With labels, (delta, sigma²) is chosen from this grid of 8 by 7 cells by default.
STEP_SIZES = tuple(float(value) for value in np.logspace(-2, 2, 8))
WEIGHT_SCALES = tuple(float(value) for value in np.logspace(-2, 1, 7))

#: Without labels there is nothing to choose by, and these values are used (docs/decisions.md).
UNLABELLED_STEP_SIZE, UNLABELLED_WEIGHT_SCALE = 1.0, 0.3

#: Characters of a refused value that a message repeats.
LONGEST = 200

#: Fewer rows of a large table would say too little of it.
FEWEST_FITTED = 100

#: With labels, a round takes steps while its score rises, at most so many.
LABELLED_STEPS = 20


@dataclass(frozen=True)
class Setting(Saved):
    """Hyperparameters of graphs and bridges, one value each, out of those that a `JointDiffusion` offers."""

    neighbours: int
    score_scale: float
    bridge: BridgeScheme[Any]

    def check(self) -> None:
        """Refuse values out of range."""
        JointDiffusion(neighbours=self.neighbours, score_scale=self.score_scale, bridge=self.bridge)


#: Hyperparameters that are one of a few words.
WORDS: Mapping[str, tuple[str, ...]] = {
    "selection": ("held-out", "alignment"),
    "search": ("auto", "exact", "approximate"),
    "task": ("ranking", "regression"),
}


@dataclass(frozen=True)
class JointDiffusion(Saved):
    """Joint manifold diffusion (Algorithm 1).

    A hyperparameter of the graphs and bridges is one value, or a tuple of values that ``selection`` chooses from.
    A hyperparameter of the f-diffusion is one value, or a tuple that the labels choose from.

    Parameters
    ----------
    neighbours : int or tuple of int
        Nearest neighbours in the feature graphs (N), at least 1; smaller tables use all their rows.
    score_scale : float or tuple of float
        Scale of the prediction weights in the feature graphs (``sigma_f^2`` and ``sigma_k^2``), in
        variances of the scores, positive; infinity leaves the predictions out of the graphs.
    bridge : ImplicitEuler, ExplicitEuler, or tuple of them
        How pairs become bridges, with their step size (``delta_B``) and, if explicit, sparsity (K).
    step_size : float, tuple of float, or None
        Step size of the f-diffusion (delta), positive. None: 1; if labels only tune, chosen by them from eight
        values in [0.01, 100].
    weight_scale : float, tuple of float, or None
        Scale of the reference weights (sigma²), positive. None: 0.3; if labels only tune, chosen by them from seven
        values in [0.01, 10].
    rounds : int
        Upper bound on joint rounds (T1).
    steps : int or None
        Steps of the f-diffusion in a round (T2); if labels only tune, an upper bound. None: 1; if labels only tune,
        20.
    settled : float
        The rounds end when ``1 - <f(t + 1), f(t)>`` falls below this.
    anchored : bool
        Keep the main predictor, as the first round began with it, among the references, so that rounds do not drift
        away from it.
    learning : bool
        Labels teach, and decide how far the refinement goes. Without labels, the references are asked
        whether they predict the same thing as the main predictor. If false, labels only tune ``step_size`` and
        ``weight_scale``, and without labels the references are taken at their word, as in the paper.
    same_target : bool or None
        Whether the references predict the same thing as the main predictor. True: they are followed, but for those
        that are clearly high where it is low. None: they are followed unless the data contradict it. False: they must
        show it, and that they add to the main predictor.
    smoothing : float
        Step size with which the current prediction is smoothed over its own graph, as one more reference; 0 leaves
        it out. It is also left out if the main table has no graph.
    ignore_chance : bool
        If labels only tune, give weight 0 to references that align with the main predictor no better than permuted
        pairs do, or whose bridge predicts them no better.
    ignored : tuple of str
        Names of references that get weight 0 in any case.
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
    fitted_rows : int or None
        About how many rows of a table are fitted, at least 100, if it has more: all labelled rows; pairs, up to 2,000
        or half of this number, whichever is more; and others, drawn at random. All other rows are refined as later
        rows are. None fits all rows.
    task : {"ranking", "regression"}
        What labels measure: ranking accuracy or root mean squared error.
    safeguarded : bool
        With labels, go only as far as the probability that there is a gain at labels that were held out, and return
        the main predictor unchanged if there is a loss above its standard error. If labels only tune, the gain must
        exceed its standard error.

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
    learning: bool = True
    same_target: bool | None = None
    smoothing: float = 10.0
    ignore_chance: bool = True
    ignored: tuple[str, ...] = ()
    selection: Literal["held-out", "alignment"] = "held-out"
    folds: int = 5
    standardised: bool | tuple[bool, ...] = (True, False)
    search: Search = "auto"
    fitted_rows: int | None = 20_000
    task: Literal["ranking", "regression"] = "ranking"
    safeguarded: bool = True

    def __post_init__(self) -> None:
        for name in ("neighbours", "score_scale", "bridge", "standardised", "step_size", "weight_scale"):
            self._demand(name, getattr(self, name) != (), "at least one value")
        self._check_counts()
        self._check_amounts()
        schemes, flags = choices(self.bridge), choices(self.standardised)
        are_schemes = all(isinstance(scheme, BridgeScheme) for scheme in schemes)
        self._demand("bridge", are_schemes, "ImplicitEuler(...) or ExplicitEuler(...), or a tuple of them")
        are_flags = all(isinstance(flag, bool) for flag in flags)
        self._demand("standardised", are_flags, "True, False or a tuple of them")
        for name in ("anchored", "learning", "ignore_chance", "safeguarded"):
            self._demand(name, isinstance(getattr(self, name), bool), "True or False")
        self._demand("same_target", isinstance(self.same_target, bool | None), "True, False or None")
        are_names = isinstance(self.ignored, tuple) and all(isinstance(name, str) for name in self.ignored)
        self._demand("ignored", are_names, "a tuple of names")
        for name, words in WORDS.items():
            self._demand(name, getattr(self, name) in words, " or ".join(repr(word) for word in words))

    def _check_counts(self) -> None:
        counts = [("neighbours", value, 1) for value in choices(self.neighbours)]
        counts += [("rounds", self.rounds, 1), ("folds", self.folds, 2)]
        counts += [] if self.steps is None else [("steps", self.steps, 1)]
        counts += [] if self.fitted_rows is None else [("fitted_rows", self.fitted_rows, FEWEST_FITTED)]
        for name, value, smallest in counts:
            is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            self._demand(name, is_whole and value >= smallest, f"whole numbers of at least {smallest}")
            self._demand(name, value <= MOST_COUNTED, f"whole numbers of at most {MOST_COUNTED}")

    def _check_amounts(self) -> None:
        for name in ("score_scale", "step_size", "weight_scale"):
            given = getattr(self, name)
            positive = given is None or all(is_number(value) and value > 0 for value in choices(given))
            self._demand(name, positive, "positive numbers")
        self._demand("step_size", self.step_size is None or np.inf not in choices(self.step_size), "finite numbers")
        for name in ("settled", "smoothing"):
            value = getattr(self, name)
            self._demand(name, is_number(value) and 0 <= value < np.inf, "a number of at least 0")
        in_range = self.smoothing == 0 or 1e-6 <= self.smoothing <= 1e4
        self._demand("smoothing", in_range, "0 or a number in [1e-6, 1e4]")

    @classmethod
    def as_published(cls) -> JointDiffusion:
        """Return the method as the paper runs it: explicit bridges, its tuning rule, and none of our additions.

        The paper gives no candidates for N, K and sigma_f²; the candidates are ours.
        """
        return cls(
            neighbours=(5, 10, 20),
            score_scale=(0.1, 0.3, 1.0),
            bridge=tuple(ExplicitEuler(keep=keep) for keep in (5, 10, 20)),
            anchored=False,
            learning=False,
            smoothing=0.0,
            ignore_chance=False,
            selection="alignment",
            standardised=True,
            fitted_rows=None,
            safeguarded=False,
        )

    @property
    def is_regression(self) -> bool:
        """Whether the labels are target values, and not only an order."""
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
        """Step sizes and weight scales of the f-diffusion; ``labelled`` says whether labels choose among them.

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
                "Several values of step_size or weight_scale came, but only labels choose among them, and only if "
                "'learning' is false; give one value of each, or give labels and set 'learning' to false."
            )
        return choices(steps), choices(scales)

    def _demand(self, name: str, fits: bool, expected: str) -> None:
        if not fits:
            shown = repr(getattr(self, name))
            shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
            raise InputError(f"{name}={shown} came, but {expected} were expected.")


def choices(value: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the candidates of a field: the values of a tuple, or the one value."""
    return value if isinstance(value, tuple) else (value,)


def is_number(value: object) -> bool:
    """Whether a value is a real number, possibly infinite, that a float can hold; truth values are not numbers."""
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
