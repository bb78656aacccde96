"""Choice: the hyperparameters that a run used, and what they were chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from manifuse.diffusion.joint import Path
from manifuse.diffusion.method import Setting
from manifuse.diffusion.presmoothing import SmoothingSetting
from manifuse.evidence.tuning import Trial
from manifuse.kernels.arrays import FloatArray
from manifuse.preparation import Prepared
from manifuse.records import Saved, write


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
    presmoothing : SmoothingSetting or None
        How the main predictor was smoothed before the diffusion; None if it was not.
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
    presmoothing: SmoothingSetting | None

    @classmethod
    def of(cls, prepared: Prepared, path: Path) -> Choice:
        """Collect what was chosen before and during the diffusion."""
        step_sizes, weight_scales = prepared.setup.method.grid(labelled=prepared.score is not None)
        return cls(
            setting=prepared.bridges.setting,
            standardised=prepared.tables.standardised(),
            recall=prepared.tables.recall(),
            step_size=path.history[0].step_size,
            weight_scale=path.history[0].weight_scale,
            step_sizes=step_sizes,
            weight_scales=weight_scales,
            surface=path.surface,
            trials=prepared.trials,
            presmoothing=None if prepared.presmoothing is None else prepared.presmoothing.setting,
        )

    def check(self) -> None:
        """Refuse values that do not fit together."""
        shape = (len(self.step_sizes), len(self.weight_scales))
        if len(self.recall) != len(self.standardised) or (self.surface is not None and self.surface.shape != shape):
            raise ValueError("what was chosen does not fit together")

    def to_dict(self) -> dict[str, Any]:
        """Return the hyperparameters that were used, as JSON can hold them."""
        used = ("standardised", "recall", "step_size", "weight_scale", "presmoothing")
        return {**write(self.setting), **{name: write(getattr(self, name)) for name in used}}
