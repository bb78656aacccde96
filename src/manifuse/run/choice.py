"""Choice: the hyperparameters that a run used, and what they were chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manifuse.columns.run_order import SHARE
from manifuse.diffusion.method import Setting
from manifuse.diffusion.tuning import Trial
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved, write
from manifuse.run.conclusion import Conclusion
from manifuse.run.outcome import history_of
from manifuse.run.preparation import Prepared


@dataclass(frozen=True, eq=False)
class Choice(Saved):
    """The hyperparameters that were used, and what they were chosen from.

    Attributes
    ----------
    setting : Setting
        Of graphs and bridges.
    standardised : tuple of bool or None
        Whether features were standardised: of the main table, then of every reference; None if there was no search.
    recall : tuple of float or None
        Share of the true neighbours that the search found, likewise; None without a graph.
    step_size, weight_scale : float
        Of the f-diffusion, in its first round.
    step_sizes, weight_scales : tuple of float
        The axes of ``surface``.
    surface : (step sizes, weight scales) array or None
        Best score of every cell in the first round; None without labels.
    trials : tuple of Trial
        Settings tried, with the criterion of each; empty if there was nothing to choose.
    share : float
        Of the diffused predictions in the refined ones, in [0, 1]; the rest is what was learned.
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
    share: float

    @classmethod
    def of(cls, prepared: Prepared, conclusion: Conclusion) -> Choice:
        """Collect what was chosen before and during the diffusion."""
        step_sizes, weight_scales = prepared.setup.method.grid(labelled=prepared.labels_tune)
        path, step = conclusion.path, history_of(prepared, conclusion)[0]
        share = 1.0 if conclusion.found is None else SHARE if path is not None else 0.0
        return cls(
            setting=prepared.bridges.setting,
            standardised=prepared.tables.standardised(),
            recall=prepared.tables.recall(),
            step_size=step.step_size,
            weight_scale=step.weight_scale,
            step_sizes=step_sizes,
            weight_scales=weight_scales,
            surface=None if path is None else path.surface,
            trials=prepared.trials,
            share=share,
        )

    def check(self) -> None:
        """Refuse values that do not fit together."""
        shape = (len(self.step_sizes), len(self.weight_scales))
        if len(self.recall) != len(self.standardised) or (self.surface is not None and self.surface.shape != shape):
            raise ValueError("what was chosen does not fit together")

    def to_dict(self) -> dict[str, Any]:
        """Return the hyperparameters that were used, as JSON can hold them."""
        used = ("standardised", "recall", "step_size", "weight_scale", "share")
        return {**write(self.setting), **{name: write(getattr(self, name)) for name in used}}
