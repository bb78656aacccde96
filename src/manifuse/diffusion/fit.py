"""Fit: a diffusion that is done, until somebody asks about rows that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.extension import Extension, Lookup
from manifuse.diffusion.footprint import demand_memory_to_replay
from manifuse.diffusion.joint import Path, Round, replay
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fitted diffusion is made of, in this machine's memory.

    Attributes
    ----------
    bridges : Bridges
    lookups : tuple of Lookup or None
        As `Extension` has them.
    coefficients : tuple of arrays
        As `Path` has them.
    rounds : tuple of Round or None
        As `Path` has them; where they were not kept, the first question repeats them.
    presmoothing : Presmoothing or None
    method : JointDiffusion
    """

    bridges: Bridges
    lookups: tuple[Lookup | None, ...]
    coefficients: tuple[FloatArray, ...]
    rounds: tuple[Round, ...] | None
    presmoothing: Presmoothing | None
    method: JointDiffusion

    @classmethod
    def of(
        cls,
        bridges: Bridges,
        references: Sequence[Observations],
        path: Path,
        presmoothing: Presmoothing | None,
        method: JointDiffusion,
    ) -> Fit:
        """Keep a fit; it needs no device and no cluster any more.

        Parameters
        ----------
        bridges : Bridges
        references : sequence of Observations
            As they came, in the order of the problem.
        path : Path
        presmoothing : Presmoothing or None
        method : JointDiffusion
        """
        lookups = tuple(
            Lookup(table.keys, reference.scores) if reference.is_coupled else None
            for table, reference in zip(references, bridges.problem.references, strict=True)
        )
        on_host = None if presmoothing is None else presmoothing.on_host()
        return cls(bridges.on_host(), lookups, path.coefficients, path.rounds, on_host, method)

    @cached_property
    def extension(self) -> Extension:
        """The fit, ready for rows that come later.

        Raises
        ------
        InputError
            If its rounds were not kept, and do not fit into memory.
        """
        rounds = self.rounds
        if rounds is None:
            demand_memory_to_replay(self.bridges.problem, len(self.coefficients))
            rounds = replay(self.bridges, self.method, self.coefficients)
        return Extension.of(self.bridges, self.lookups, rounds, self.presmoothing, self.method)
