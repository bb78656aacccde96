"""Improve a predictor by the scores of others, even when they were computed on other rows.

>>> import manifuse as mf
>>> sorted(mf.__all__)[:3]
['Cached', 'ExplicitEuler', 'Host']
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manifuse.backends.cached import Cached
    from manifuse.backends.host import Host
    from manifuse.backends.torch import Torch
    from manifuse.combiner import PredictorCombiner
    from manifuse.diffusion.explicit_euler import ExplicitEuler
    from manifuse.diffusion.implicit_euler import ImplicitEuler
    from manifuse.diffusion.labels import RankLabels
    from manifuse.diffusion.method import JointDiffusion
    from manifuse.diffusion.observations import Observations
    from manifuse.errors import InputError, ManifuseError, ManifuseWarning, MissingExtraError
    from manifuse.persistence import load, save
    from manifuse.refinement import Refinement
    from manifuse.report.refinement_page import write_report
    from manifuse.run import refine

__version__ = version("manifuse")

__all__ = [
    "Cached",
    "ExplicitEuler",
    "Host",
    "ImplicitEuler",
    "InputError",
    "JointDiffusion",
    "ManifuseError",
    "ManifuseWarning",
    "MissingExtraError",
    "Observations",
    "PredictorCombiner",
    "RankLabels",
    "Refinement",
    "Torch",
    "__version__",
    "load",
    "refine",
    "save",
    "write_report",
]

#: Where public names live. They are imported when first asked for, so that the command line answers at once.
_HOMES = {
    "Cached": "backends.cached",
    "ExplicitEuler": "diffusion.explicit_euler",
    "Host": "backends.host",
    "ImplicitEuler": "diffusion.implicit_euler",
    "InputError": "errors",
    "JointDiffusion": "diffusion.method",
    "ManifuseError": "errors",
    "ManifuseWarning": "errors",
    "MissingExtraError": "errors",
    "Observations": "diffusion.observations",
    "PredictorCombiner": "combiner",
    "RankLabels": "diffusion.labels",
    "Refinement": "refinement",
    "Torch": "backends.torch",
    "load": "persistence",
    "refine": "run",
    "save": "persistence",
    "write_report": "report.refinement_page",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
