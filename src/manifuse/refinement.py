"""Refinement: the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifuse.diffusion.extension import Extension
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.joint import Reason, Step
from manifuse.diffusion.method import JointDiffusion, Setting
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.diffusion.problem import locate
from manifuse.errors import demand
from manifuse.evidence.relevance import Relevance
from manifuse.evidence.score import Gain
from manifuse.evidence.tuning import Trial
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Choice:
    """The hyperparameters that were used, and what they were chosen from.

    Attributes
    ----------
    setting : Setting
        Of graphs and bridges.
    standardised : tuple of bool or None
        Whether features were standardised: of the main table, then of every reference; None where there
        was no graph or its neighbours were given.
    recall : tuple of float or None
        Share of the true neighbours that the search found, likewise; None where there was no graph.
    step_size, weight_scale : float
        Of the f-diffusion, in its first round.
    step_sizes, weight_scales : tuple of float
        The axes of ``surface``.
    surface : (step sizes, weight scales) array or None
        Best score of every cell in the first round; None without labels.
    trials : tuple of Trial
        Settings tried, with the criterion of each; empty if none were to be chosen.
    presmoothing : Presmoothing or None
        How the main predictor was smoothed before the diffusion began; None if it was not.
    """

    setting: Setting
    standardised: tuple[bool | None, ...]
    recall: tuple[float | None, ...]
    step_size: float
    weight_scale: float
    step_sizes: tuple[float, ...]
    weight_scales: tuple[float, ...]
    surface: FloatArray | None
    trials: tuple[Trial, ...]
    presmoothing: Presmoothing | None


@dataclass(frozen=True, eq=False)
class Refinement:
    """What `refine` found.

    Attributes
    ----------
    predictions : array, series or tensor (n,)
        Refined predictions in the library, order and units of the main predictions.
    accepted : bool
        Whether the refinement was taken; if not, the main predictions came back unchanged.
    reason : Reason
        Why the diffusion stopped, or why the main predictor came back unchanged.
    relevance : tuple of Relevance
        One for every reference, in the order given.
    weights : (m,) array
        Weight of every reference at the end, in [0, 1].
    support : (n,) array
        How much pair evidence stands behind each row, in [0, 1]: 0 where no bridge arrives, 1 where it is
        as good as at a typical pair.
    history : tuple of Step
        Every step of the f-diffusion.
    choice : Choice
        The hyperparameters used.
    accuracy : mapping or None
        With labels: each measure's value ``before`` and ``after``, on the labelled rows.
    gain : Gain or None
        With labels: the gain on them and its standard error, accepted or not. The same labels chose the
        hyperparameters, so it leans to the good side.
    method : JointDiffusion
    seed : int
        Gives the same result again on the same input.
    main : Observations

    Examples
    --------
    >>> import numpy as np
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> ours = mf.Observations(np.arange(20.0) + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(np.arange(20.0) + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], rng=0)
    >>> result
    Refinement(20 rows, 1 references, accepted: The predictions settled: a further round hardly turned them.)
    >>> result.relevance[0].name, result.relevance[0].pairs, result.weights.shape, result.support.shape
    ('other', 20, (1,), (20,))
    """

    predictions: Any
    accepted: bool
    reason: Reason
    relevance: tuple[Relevance, ...]
    weights: FloatArray
    support: FloatArray
    history: tuple[Step, ...]
    choice: Choice
    accuracy: Mapping[str, Mapping[str, float]] | None
    gain: Gain | None
    method: JointDiffusion
    seed: int
    main: Observations
    _refined: FloatArray
    _typical: FloatArray
    _extension: Fit | Extension

    def apply(self, new: Observations) -> Any:
        """Refine rows that came later, without fitting again.

        Parameters
        ----------
        new : Observations
            New main rows, with the features of the main table where bridges were needed. Rows whose id was
            in the fit get their fitted prediction.

        Returns
        -------
        array, series or tensor (q,)
            In the library of ``new.predictions``.

        Raises
        ------
        InputError
            If the features are not those of the fit.

        Notes
        -----
        From 100,000 rows on, a refinement does not keep what its rounds did; the first call, `save` or report repeats
        them, on this machine, and is refused (InputError) where there is no memory for it.
        """
        return self.apply_with_support(new)[0]

    def support_of(self, new: Observations) -> FloatArray:
        """Support of rows that came later, shape (q,), in [0, 1]; see ``support``."""
        return self.apply_with_support(new)[1]

    def apply_with_support(self, new: Observations) -> tuple[Any, FloatArray]:
        """Return what `apply` and `support_of` do, at the cost of one of them."""
        demand(Observations, new)
        rows, known = locate(new.keys, self.main.keys)
        predictions: FloatArray = new.scores
        support: FloatArray = np.zeros(len(new))
        if self.accepted:
            predictions, row_sums = self._fitted().extend(new)
            support = support_of_rows(row_sums, self._typical, self.weights)
        refined = new.like_predictions(np.where(known, self._refined[rows], predictions))
        return refined, np.where(known, self.support[rows], support)

    def _fitted(self) -> Extension:
        """What rows that come later go by; made when it is first asked for."""
        return self._extension.extension if isinstance(self._extension, Fit) else self._extension

    def __repr__(self) -> str:
        verdict = "accepted" if self.accepted else "unchanged"
        return f"Refinement({len(self.main)} rows, {len(self.relevance)} references, {verdict}: {self.reason})"


def support_of_rows(row_sums: FloatArray, typical: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over references, by weight, of row sums against those at a typical pair; shape (n,), in [0, 1]."""
    # Where all references are ignored no weight tells them apart.
    weights = weights if weights.sum() > 0 else np.ones(len(weights))
    shares = row_sums / typical
    np.clip(shares, 0.0, 1.0, out=shares)
    return np.asarray(shares @ (weights / weights.sum()))
