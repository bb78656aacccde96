"""The order of a run: what decides whether something is diffused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.columns import run_order
from manifuse.run.conclusion import _pairs_follow


@pytest.mark.parametrize("carried, diffuses", [((0.2, 0.6), True), ((0.2, 0.4), False)])
def test_a_graph_that_carries_no_reference_is_not_diffused_over(carried, diffuses, monkeypatch):
    """One reference that it carries is enough; another may be noise."""
    asked, worth = [], run_order.is_worth_diffusing

    def judge(given, known, agreement):
        # Lessons as bad as bridges, and smoothed scores that are certainly better.
        given = replace(given, fidelity=np.array(carried))
        monkeypatch.setattr(run_order, "MOST_LOST", 10.0)
        monkeypatch.setattr(run_order, "LEAST_SMOOTHED", -10.0)
        asked.append(worth(given, known, agreement))
        return asked[-1]

    monkeypatch.setattr(run_order, "is_worth_diffusing", judge)
    case = draw(0)
    result = mf.refine(case.main, case.references, rng=0)
    assert asked == [diffuses]
    assert (result.fitted_model.columns.diffused is not None) == diffuses


@pytest.mark.parametrize("value, follow", [(-0.001, False), (0.0, True), (0.001, True), (None, True)])
def test_pairs_follow_unless_labels_there_show_a_loss_however_small(value, follow):
    found = SimpleNamespace(
        agreement=SimpleNamespace(is_followed=True),
        known=SimpleNamespace(fitted={"pairs": np.array([0.0, 1.0])}),
    )
    assert _pairs_follow(found, None if value is None else SimpleNamespace(value=value)) is follow
