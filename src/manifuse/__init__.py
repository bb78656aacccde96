"""Improve a predictor by the scores of others, even when they were computed on other rows.

>>> import manifuse as mf
>>> sorted(mf.__all__)[:3]
['Algorithm1', 'ClassLabels', 'ClassifierCombiner']
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manifuse import datasets as datasets
    from manifuse import rivals as rivals
    from manifuse.backends.host import Host as Host
    from manifuse.backends.torch import Torch as Torch
    from manifuse.diffusion.algorithm1 import Algorithm1 as Algorithm1
    from manifuse.diffusion.explicit_euler import ExplicitEuler as ExplicitEuler
    from manifuse.diffusion.implicit_euler import ImplicitEuler as ImplicitEuler
    from manifuse.errors import InputError as InputError
    from manifuse.errors import ManifuseError as ManifuseError
    from manifuse.errors import ManifuseWarning as ManifuseWarning
    from manifuse.errors import MissingExtraError as MissingExtraError
    from manifuse.report.explanation import explain as explain
    from manifuse.report.pictures import plot as plot
    from manifuse.report.refinement_page import write_report as write_report
    from manifuse.run.classifier import ClassifierCombiner as ClassifierCombiner
    from manifuse.run.combiner import PredictorCombiner as PredictorCombiner
    from manifuse.run.file_runs import apply_files as apply_files
    from manifuse.run.file_runs import refine_files as refine_files
    from manifuse.run.method import JointDiffusion as JointDiffusion
    from manifuse.run.persistence import load as load
    from manifuse.run.persistence import save as save
    from manifuse.run.refine import refine as refine
    from manifuse.run.refinement import Refinement as Refinement
    from manifuse.tables.labels import ClassLabels as ClassLabels
    from manifuse.tables.labels import RankLabels as RankLabels
    from manifuse.tables.observations import Observations as Observations

__version__ = version("manifuse")

#: Modules of the public names. A name is imported when it is first asked for, so that the command line starts at once.
HOMES = {
    "Algorithm1": "diffusion.algorithm1",
    "ClassLabels": "tables.labels",
    "ClassifierCombiner": "run.classifier",
    "ExplicitEuler": "diffusion.explicit_euler",
    "Host": "backends.host",
    "ImplicitEuler": "diffusion.implicit_euler",
    "InputError": "errors",
    "JointDiffusion": "run.method",
    "ManifuseError": "errors",
    "ManifuseWarning": "errors",
    "MissingExtraError": "errors",
    "Observations": "tables.observations",
    "PredictorCombiner": "run.combiner",
    "RankLabels": "tables.labels",
    "Refinement": "run.refinement",
    "Torch": "backends.torch",
    "explain": "report.explanation",
    "load": "run.persistence",
    "plot": "report.pictures",
    "apply_files": "run.file_runs",
    "refine": "run.refine",
    "refine_files": "run.file_runs",
    "save": "run.persistence",
    "write_report": "report.refinement_page",
}

#: Public modules, which are imported when they are first asked for.
MODULES = ("datasets", "rivals")

__all__ = ["__version__", *HOMES, *MODULES]


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
