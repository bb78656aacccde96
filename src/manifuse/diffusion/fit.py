"""Fit: a diffusion over a large table that is done, until somebody asks about rows that come later."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.extension import Extension, Lookup
from manifuse.diffusion.joint import replay
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.footprint import demand_memory_to_replay
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fitted diffusion is made of, where what its rounds did was not kept.

    Attributes
    ----------
    bridges : Bridges
        In this machine's memory.
    lookups : tuple of Lookup or None
        As `Extension` has them.
    coefficients : tuple of arrays
        As `Path` has them.
    presmoothing : Presmoothing or None
    method : JointDiffusion
    """

    bridges: Bridges
    lookups: tuple[Lookup | None, ...]
    coefficients: tuple[FloatArray, ...]
    presmoothing: Presmoothing | None
    method: JointDiffusion

    @cached_property
    def extension(self) -> Extension:
        """The fit, ready for rows that come later; the first to ask has the rounds repeated.

        Raises
        ------
        InputError
            If they do not fit into memory.
        """
        demand_memory_to_replay(self.bridges.problem, self.method, len(self.coefficients))
        rounds = replay(self.bridges, self.method, self.coefficients)
        return Extension.of(self.bridges, self.lookups, rounds, self.presmoothing, self.method)
