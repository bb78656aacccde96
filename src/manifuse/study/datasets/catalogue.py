"""The catalogue: every data set of the paper, and one that is bundled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from manifuse.errors import look_up
from manifuse.study.datasets.awa import AWA
from manifuse.study.datasets.cal7 import CAL7
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.digits import DIGITS
from manifuse.study.datasets.hw import HW
from manifuse.study.datasets.nus import NUS
from manifuse.study.datasets.osr import OSR
from manifuse.study.datasets.pubfig import PUBFIG
from manifuse.study.datasets.shoes import SHOES
from manifuse.study.datasets.source import Source

#: Every data set by its name, in the paper's order.
CATALOGUE: Mapping[str, Source] = MappingProxyType(
    {source.name: source for source in (PUBFIG, OSR, SHOES, CAL7, NUS, HW, AWA, DIGITS)}
)


def load(name: str, folder: Path) -> Dataset:
    """Read the data set of this name from the data folder.

    Raises
    ------
    InputError
        If no data set has this name (the message gives the nearest one), or its files are missing or damaged, or
        contain something else.
    """
    return look_up(name, CATALOGUE, kind="data set").load(folder)
