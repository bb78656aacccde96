"""Lipophilicity: 4,200 molecules in six views, with a measured, continuous truth. It is not in the paper.

Rows are molecules. Each view is a task, and a ranker has to order the molecules by their measured octanol/water
distribution coefficient at pH 7.4 (log D). As in Cal7, the tasks are decoupled across views, as if partners described
their own molecules in their own ways.

One form is read: ``lipophilicity/lipophilicity.npz``, the compact file: ``X_<view>`` for the six views, and ``y``. The
molecules and the truth are those of MoleculeNet, deposited in ChEMBL by AstraZeneca. The views were computed with
RDKit: ``morgan``, ``atompair`` and ``torsion`` are hashed counts of fragments, of which the logarithm of one plus the
count is taken; ``maccs`` says which of 166 fragments are there; ``vsa`` and ``desc2d`` are physical and topological
descriptors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse_study.datasets.array_files import table
from manifuse_study.datasets.source import Contents, Form, Source
from manifuse_study.datasets.views import read_compact, view_tasks

COMPACT = ("lipophilicity/lipophilicity.npz",)
WIDTHS = {"morgan": 1024, "atompair": 1024, "torsion": 1024, "maccs": 166, "vsa": 57, "desc2d": 61}
COUNTS = ("morgan", "atompair", "torsion")
ROWS = 4200


def read(folder: Path, form: Form) -> Contents:
    """Read lipophilicity; see `Source`."""
    path = folder / form[0]
    arrays, views = read_compact(path, WIDTHS)
    truth = table(path, "y", arrays["y"].reshape(-1, 1), rows=ROWS)[:, 0]
    for view in COUNTS:
        if views[view].min() < 0:
            raise InputError(f"X_{view} of {path} has counts below 0; put the right file in its place.")
        views[view] = np.log1p(views[view])
    return Contents(view_tasks(views, truth))


LIPOPHILICITY = Source(
    name="lipophilicity",
    title="Lipophilicity of molecules",
    summary="molecules with a measured, continuous truth; 6 views as tasks",
    owner="https://moleculenet.org (molecules and truth; the views were computed from the molecules)",
    citation="Z. Wu et al.: MoleculeNet. Chemical Science 9, 2018; deposited in ChEMBL by AstraZeneca (CHEMBL3301361)",
    forms=(COMPACT,),
    read=read,
)
