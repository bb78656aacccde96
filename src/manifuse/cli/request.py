"""What ``manifuse refine`` is asked for, by options and config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path

from manifuse.cli.backend_names import HOST
from manifuse.diffusion.method import JointDiffusion


@dataclass(frozen=True)
class RefineRequest:
    """What the command line asked for.

    Attributes
    ----------
    main : str
    references : sequence of str
    out : Path
    labels, pairs : Path or None
    features : str or None
    method : JointDiffusion
    seed : int
    drop_invalid : bool
    save : Path or None
        Where the refinement is kept, for ``manifuse apply``.
    backend : str
        Where neighbours are searched and graphs are kept; see `backend_named`.
    cache : Path or None
        Folder where neighbour searches are kept.
    report : Path or None
        Where the page about the refinement goes.
    config : Path or None
        The file that a part of it was read from.
    """

    main: str
    references: Sequence[str]
    out: Path
    labels: Path | None
    pairs: Path | None
    features: str | None
    method: JointDiffusion
    seed: int
    drop_invalid: bool
    save: Path | None = None
    backend: str = HOST
    cache: Path | None = None
    report: Path | None = None
    config: Path | None = None

    @property
    def record(self) -> Path | None:
        """Where goes what the run used; None where the config that was read has that name, which stays as it is."""
        path = self.out.with_suffix(".run.toml")
        return None if self.config is not None and realpath(path) == realpath(self.config) else path
