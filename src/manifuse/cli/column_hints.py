"""Hints: what was read."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Protocol

from manifuse.cli.feature_source import Source
from manifuse.diffusion.labels import RankLabels

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
