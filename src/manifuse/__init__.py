"""Improve a predictor by the scores of others, even when they were computed on other rows.

>>> import manifuse as mf
>>> sorted(mf.__all__)[:3]
['ExplicitEuler', 'ImplicitEuler', 'InputError']
"""

from importlib.metadata import version

from manifuse.combiner import PredictorCombiner
from manifuse.diffusion.bridge import ExplicitEuler, ImplicitEuler
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.refine import refine
from manifuse.diffusion.refinement import Refinement
from manifuse.errors import InputError, ManifuseError, ManifuseWarning, MissingExtraError

__version__ = version("manifuse")

__all__ = [
    "ExplicitEuler",
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
    "__version__",
    "refine",
]
