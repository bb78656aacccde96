"""What labels say of classes: no measure changes where nothing is taken, and groups count as groups."""

import numpy as np
import pytest
from tests.test_classes import draw

import manifuse as mf
from manifuse.evidence.reason import Reason


def test_where_nothing_is_taken_no_measure_changes():
    main, others, known, _, _ = draw(4, labels=60)
    told = mf.ClassLabels(known.keys, np.random.default_rng(4).permutation(known.names))
    result = mf.refine(main, others, told, rng=0)
    assert result.reason is Reason.REVERSED
    assert result.accuracy.measure == "class_accuracy"
    assert result.accuracy.after == result.accuracy.before
    assert result.log_loss.after == result.log_loss.before


def test_rows_of_a_group_count_once_in_the_error_of_the_accuracy():
    """Every labelled row stands twice in the table; its copy says nothing new."""
    main, others, known, _, _ = draw(1, labels=50)
    rows = [main.keys.tolist().index(key) for key in known.keys.tolist()]
    copies = np.concatenate([np.arange(len(main)), rows])
    ids = [*main.keys.tolist(), *(f"{key} again" for key in known.keys.tolist())]
    twice = mf.Observations(main.came[copies], main.table[copies], ids=ids, classes=main.classes.names, name="ours")
    keys, names = [*known.keys.tolist(), *ids[len(main) :]], [*known.names, *known.names]
    groups = known.keys.tolist() * 2
    _, once = mf.refine(main, others, known, rng=0).evidence.measured.right
    _, of_groups = mf.refine(twice, others, mf.ClassLabels(keys, names, groups), rng=0).evidence.measured.right
    assert of_groups.standard_error == pytest.approx(once.standard_error, rel=0.2)
