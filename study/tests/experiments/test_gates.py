"""The rules that are taken away one at a time are those of the code as it stands."""

import runpy
from dataclasses import fields
from pathlib import Path

import manifuse as mf

GATES = runpy.run_path(str(Path(__file__).parents[2] / "experiments" / "gates.py"))


def test_every_rule_changes_what_is_there():
    known = {field.name for field in fields(mf.JointDiffusion)}
    for constants, given in GATES["RULES"].values():
        for (module, name), value in constants.items():
            assert callable(getattr(module, name)) == callable(value)
        assert given.keys() <= known
    assert sum(not constants and not given for constants, given in GATES["RULES"].values()) == 1
