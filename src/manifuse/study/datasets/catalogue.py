"""The catalogue: every data set of the paper, one of molecules, and one that is bundled."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from manifuse.study.datasets.awa import AWA
from manifuse.study.datasets.cal7 import CAL7
from manifuse.study.datasets.digits import DIGITS
from manifuse.study.datasets.hw import HW
from manifuse.study.datasets.lipophilicity import LIPOPHILICITY
from manifuse.study.datasets.nus import NUS
from manifuse.study.datasets.osr import OSR
from manifuse.study.datasets.pubfig import PUBFIG
from manifuse.study.datasets.shoes import SHOES
from manifuse.study.datasets.source import Source

#: Every data set by its name: those of the paper in its order, then the others.
CATALOGUE: Mapping[str, Source] = MappingProxyType(
    {source.name: source for source in (PUBFIG, OSR, SHOES, CAL7, NUS, HW, AWA, LIPOPHILICITY, DIGITS)}
)
