"""Lines from values to targets, and what is found in units: each row is judged without its block."""

import numpy as np
import pytest

from manifuse.columns.held_labels import Labels
from manifuse.columns.scored import HeldOutScores, Line, OwnScores
from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.squared_error import SquaredError
from manifuse.tables.level import Level


@pytest.mark.parametrize("named", [True, False])
def test_every_row_is_predicted_by_the_line_of_the_other_blocks(rng, named):
    blocks = rng.integers(0, 6, 40) if named else np.arange(40)
    values = 3.0 * rng.standard_normal((3, 40)) + 100.0
    targets = 0.5 * values[0] + rng.standard_normal(40)
    line = Line.of(values, targets, blocks if named else None)
    fitted = line.held_out(values)
    slopes = []
    for row, found in zip(values, fitted, strict=True):
        for block in np.unique(blocks):
            out = blocks == block
            alone = np.polyfit(row[~out], targets[~out], 1)
            # A line that falls is no line from scores to labels.
            expected = np.polyval(alone, row[out]) if alone[0] > 0 else targets[~out].mean()
            np.testing.assert_allclose(found[out], expected, rtol=1e-9)
        slopes.append(max(np.polyfit(row, targets, 1)[0], 0.0))
    assert line.slope == pytest.approx(np.mean(slopes))
    assert line.offset == pytest.approx(targets.mean() - np.mean(slopes * values.mean(axis=1)))


def test_values_that_are_equal_in_all_other_blocks_make_no_line():
    values, targets = np.array([[0.1, 0.1, 0.1, 0.1, 0.5, 0.9]]), np.arange(6.0)
    blocks = np.array([0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(Line.of(values, targets, blocks).held_out(values)[0, 4:], targets[:4].mean())
    equal = np.full((1, 6), 0.1)
    line = Line.of(equal, targets, blocks)
    assert (line.offset, line.slope) == (targets.mean(), 0.0)
    np.testing.assert_allclose(line.held_out(equal)[0], [3.5, 3.5, 2.5, 2.5, 1.5, 1.5])


def in_blocks(truth, own, trials, blocks):
    """What is found of labelled rows that are held out in blocks."""
    folds = Folds.of(blocks, Held.BY_GROUP, np.random.default_rng(0), trials=len(trials))
    labels = Labels(SquaredError(np.arange(len(truth)), truth), folds, [])
    return HeldOutScores.of(Level.of(own), own, trials[..., None], labels)


def has_line(scored):
    """Whether the last column is brought to the targets by a line of its own."""
    return scored.last is not scored.expected


@pytest.mark.parametrize("kind", ["other units", "a better line"])
def test_no_row_is_brought_into_units_by_labels_of_its_block(rng, kind):
    blocks = np.repeat(np.arange(8), 5)
    signal = rng.standard_normal(40)
    own = signal + 0.5 * rng.standard_normal(40)
    truth = 50.0 * signal + 1000.0 if kind == "other units" else signal.copy()
    trials = (1.0 if kind == "other units" else 4.0) * np.tile(signal, (2, 1)) + 0.1 * rng.standard_normal((2, 40))
    found = in_blocks(truth, own, trials, blocks)
    assert (found.scored.own_became is OwnScores.IN_UNITS_OF_LABELS) is (kind == "other units")
    assert has_line(found.scored) or kind == "other units"
    changed = truth.copy()
    changed[0] += 0.2 * truth.std()
    after = in_blocks(changed, own, trials, blocks)
    assert after.scored.last.deviation != found.scored.last.deviation
    np.testing.assert_allclose(after.values[:, :5], found.values[:, :5], rtol=1e-12)
    np.testing.assert_allclose(after.own[:5], found.own[:5], rtol=1e-12)
    assert not np.allclose(after.values[:, 5:], found.values[:, 5:], rtol=1e-9)


def test_scores_that_are_off_by_one_number_came_in_other_units():
    truth = np.arange(40.0)
    found = in_blocks(truth, truth + 1000.0, np.tile(truth, (2, 1)), np.repeat(np.arange(8), 5))
    assert found.scored.own_became is OwnScores.IN_UNITS_OF_LABELS
    assert (float(found.scored.own.mean), found.scored.own.deviation) == (-1000.0, 1.0)


def test_a_line_that_is_better_in_few_blocks_alone_is_not_taken():
    rng = np.random.default_rng(3)
    blocks, values = np.repeat(np.arange(3), 40), rng.standard_normal(120)
    truth = values + 0.1 * rng.standard_normal(120) + np.repeat([1.0, 0.8, -0.1], 40)
    trials = np.tile(values, (2, 1))
    assert not has_line(in_blocks(truth, values, trials, blocks).scored)
    assert has_line(in_blocks(truth, values, trials, np.arange(120)).scored)


def test_a_line_is_judged_by_the_other_blocks_whose_folds_do_not_overlap():
    """Here it is better by more than one standard error, and by less than 1.5."""
    rng = np.random.default_rng(24)
    values, blocks = rng.standard_normal(40), np.arange(40)
    truth = 1.35 * values + 0.6 * rng.standard_normal(40)
    trials, score = np.tile(values, (2, 1)), SquaredError(np.arange(40), truth)
    fitted = Line.of(trials, truth, blocks).held_out(trials)
    gain = score.gain(values, fitted)
    assert 1.0 < gain.value / gain.standard_error < 1.4
    assert has_line(in_blocks(truth, values, trials, blocks).scored)
