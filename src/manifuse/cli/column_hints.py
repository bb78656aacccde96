"""Hints: what was read, and which columns look as if they were no features."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence, Sized
from pathlib import Path
from typing import Protocol

from manifuse.cli.feature_source import Source
from manifuse.diffusion.labels import RankLabels
from manifuse.errors import ManifuseWarning
from manifuse.files import shorten

#: Names of columns that are seldom features: truths, parts of a cross-validation, row numbers and further ids.
NO_FEATURES = re.compile(
    r"labels?|targets?|truth|outcomes?|class|grades?|folds?|split|cv|index|idx|row|rows|unnamed.*|uuid|"
    r"(.*[^a-z])?id|id[^a-z].*",
    re.IGNORECASE,
)

#: Names of features that are shown.
SHOWN = 3


class Read(Sized, Protocol):
    """A table that was read; see `Table`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def source(self) -> Source | None:
        """Its features."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Their names."""


def warn_of_names(path: Path, names: Sequence[str]) -> None:
    """Warn of features that are named like labels, folds or ids."""
    strange = [name for name in names if NO_FEATURES.fullmatch(name)]
    if strange:
        warnings.warn(
            f"{path} has columns that are named like labels, folds or ids ({shorten(', '.join(strange))}), and they "
            "are used as features; leave them out with --drop if they are not.",
            ManifuseWarning,
            stacklevel=2,
        )


def lines_of(main: Read, references: Sequence[Read], labels: RankLabels | None) -> list[str]:
    """Say what was read: every table with its rows and features, and the labels."""
    lines = [f"{table.name}: {_described(table)}" for table in (main, *references)]
    if labels is None:
        return lines
    count, what = (
        (len(labels.better), "ordered pairs") if labels.grades is None else (len(labels.keys), "labelled rows")
    )
    return [*lines, f"labels: {count:,} {what}"]


def _described(table: Read) -> str:
    width = 0 if table.source is None else table.source.width
    if not width:
        return f"{len(table):,} rows, no features"
    names = table.feature_names
    shown = "" if names is None else f" ({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
    return f"{len(table):,} rows, {width:,} feature{'' if width == 1 else 's'}{shown}"
