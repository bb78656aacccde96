"""PredictorCombiner: `refine` with scikit-learn manners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion, field_names
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.refine import refine
from manifuse.errors import InputError
from manifuse.persistence import load, save


class PredictorCombiner(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Refine a predictor by references; fitted on one set of main rows, applied to more.

    Parameters
    ----------
    references : sequence of Observations
        Others' predictions.
    method : JointDiffusion, optional
        The hyperparameters. Each is a parameter here too, as ``method__neighbours`` and so on.
    random_state : int, numpy.random.Generator or None
        As ``rng`` of `refine`.

    Attributes
    ----------
    refinement_ : Refinement
        The whole result.

    Examples
    --------
    >>> import numpy as np
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> truth, ids = np.arange(20.0), range(20)
    >>> ours = mf.Observations(truth + 6 * noise.standard_normal(20), ids=ids)
    >>> other = mf.Observations(truth + noise.standard_normal(20), ids=ids, name="other")
    >>> combiner = mf.PredictorCombiner([other], random_state=0).set_params(method__rounds=3)
    >>> combiner.fit_transform(ours).shape
    (20,)
    """

    def __init__(
        self,
        references: Sequence[Observations] = (),
        method: JointDiffusion | None = None,
        random_state: Any = None,
    ) -> None:
        self.references = references
        self.method = method
        self.random_state = random_state

    def fit(self, X: Observations, y: RankLabels | None = None) -> Self:
        """Refine the predictions of ``X``; ``y`` is what is known of the truth.

        Parameters
        ----------
        X : Observations
            The main predictor.
        y : RankLabels, optional

        Returns
        -------
        PredictorCombiner
        """
        self.refinement_ = refine(X, self.references, labels=y, method=self.method, rng=self.random_state)
        return self

    def transform(self, X: Observations) -> Any:
        """Refined predictions of the rows of ``X``, fitted or new; see `Refinement.apply`."""
        check_is_fitted(self)
        return self.refinement_.apply(X)

    def save(self, path: Path | str) -> None:
        """Keep what was fitted, without pickling; see `save`."""
        check_is_fitted(self)
        save(self.refinement_, path)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Get a fitted combiner back, to transform with; the references are not in it; see `load`."""
        refinement = load(path)
        combiner = cls(method=refinement.method, random_state=refinement.seed)
        combiner.refinement_ = refinement
        return combiner

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with ``deep``, the hyperparameters as ``method__*``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            method = JointDiffusion() if self.method is None else self.method
            params |= {f"method__{name}": getattr(method, name) for name in field_names()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``method__*`` replace single hyperparameters."""
        inner = {
            name.removeprefix("method__"): params.pop(name) for name in list(params) if name.startswith("method__")
        }
        unknown = sorted(set(inner) - set(field_names()))
        if unknown:
            raise InputError(f"{unknown[0]!r} is no hyperparameter; there are {', '.join(field_names())}.")
        super().set_params(**params)
        if inner:
            self.method = replace(JointDiffusion() if self.method is None else self.method, **inner)
        return self
