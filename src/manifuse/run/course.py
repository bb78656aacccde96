"""Course: what was chosen on the way of a run."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.diffusion.algorithm1 import Setting
from manifuse.diffusion.joint import Ending, Step
from manifuse.diffusion.tuning import TriedSetting


@dataclass(frozen=True, eq=False)
class Course:
    """What was chosen on the way, and how the diffusion went.

    Attributes
    ----------
    setting : Setting
        Of graphs and bridges.
    standardised : tuple of bool or None
        Whether features were standardised: of the main table, then of every reference; None if there was no search.
    recall : tuple of float or None
        Share of the true neighbours that the search found, likewise; None without a graph.
    tried : tuple of TriedSetting
        Settings tried, with the criterion of each; empty if there was nothing to choose.
    history : tuple of Step
        Every step of the f-diffusion; one entry, step 0, if nothing was diffused.
    ending : Ending or None
        Why the rounds ended; None if nothing was diffused.
    share : float
        Of the diffused predictions in the refined ones, in [0, 1]; the rest is what was learned.
    is_of_sample : bool
        Whether a sample of the main rows was fitted.
    """

    setting: Setting
    standardised: tuple[bool | None, ...]
    recall: tuple[float | None, ...]
    tried: tuple[TriedSetting, ...]
    history: tuple[Step, ...]
    ending: Ending | None
    share: float
    is_of_sample: bool

    @classmethod
    def of(cls, given: RunInputs, found: RunOutputs) -> Self:
        """Collect what was chosen; one step stands for none, if nothing was diffused."""
        path, tuned = found.path, given.tuned
        (step_size, *_), (weight_scale, *_) = tuned.bridges.algorithm.grid
        alignments = tuple(alignment for alignment, _ in tuned.aligned)
        nothing = Step(0, 0, np.nan, alignments, (0.0,) * len(alignments), step_size, weight_scale)
        return cls(
            setting=tuned.bridges.setting,
            standardised=tuned.tables.standardised(),
            recall=tuned.tables.recall(),
            tried=tuned.tried,
            history=(nothing,) if path is None else path.history,
            ending=None if path is None else path.ending,
            share=0.0 if found.columns.refined is None else found.columns.refined.share,
            is_of_sample=given.is_sample,
        )
