"""Lines from values to targets: each row is predicted without its block."""

import numpy as np
import pytest

from manifuse.columns.scored import Line


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
