"""The catalogue: every data set of the paper, one of molecules, and one that is bundled."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from manifuse_study.datasets.awa import AWA
from manifuse_study.datasets.cal7 import CAL7
from manifuse_study.datasets.digits import DIGITS
from manifuse_study.datasets.hw import HW
from manifuse_study.datasets.lipophilicity import LIPOPHILICITY
from manifuse_study.datasets.nus import NUS
from manifuse_study.datasets.osr import OSR
from manifuse_study.datasets.pubfig import PUBFIG
from manifuse_study.datasets.shoes import SHOES
from manifuse_study.datasets.source import Source

#: Every data set by its name: those of the paper in its order, then the others.
CATALOGUE: Mapping[str, Source] = MappingProxyType(
    {source.name: source for source in (PUBFIG, OSR, SHOES, CAL7, NUS, HW, AWA, LIPOPHILICITY, DIGITS)}
)
