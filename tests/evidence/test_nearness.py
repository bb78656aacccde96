"""Which labels a labelled row must not see: none where labels came at random, neighbours where they are crowded."""

import numpy as np
import pytest

from manifuse.evidence.likeness import Likeness, Rows
from manifuse.evidence.nearness import near_labels


@pytest.fixture
def rows(rng):
    return Rows(rng.standard_normal((1500, 1)), np.empty((1500, 0)), rng.uniform(0, 1, (1500, 2)))


def near_of(rows, labelled, rng):
    likeness = Likeness.of(rows, np.arange(min(len(rows), 300)), "main")
    return near_labels(likeness, rows, np.asarray(labelled), np.arange(len(rows)).astype(str), rng)


@pytest.mark.parametrize("count", [30, 100, 300])
def test_labels_at_random_hide_nobody_else(count, rng):
    alone = []
    for _ in range(10):
        rows = Rows(rng.standard_normal((1500, 1)), np.empty((1500, 0)), rng.uniform(0, 1, (1500, 6)))
        near = near_of(rows, rng.choice(1500, count, replace=False), rng)
        assert all(out[0] == row for row, out in enumerate(near))
        alone.append(np.mean([len(out) == 1 for out in near]))
    assert np.mean(alone) > 0.95


def test_labels_in_one_corner_hide_their_neighbours(rows, rng):
    labelled = np.flatnonzero((rows.features < 0.35).all(axis=1))[:100]
    near = near_of(rows, labelled, rng)
    assert np.mean([len(out) > 1 for out in near]) > 0.9
    assert all(out[0] == row for row, out in enumerate(near))
    assert all(len(set(out)) == len(out) <= 1 + (len(labelled) - 1) // 2 for out in near)
    # The nearest ones are hidden first.
    places = rows.features[labelled]
    for row, out in enumerate(near):
        kept = np.setdiff1d(np.arange(len(labelled)), out)
        distances = ((places - places[row]) ** 2).sum(axis=1)
        assert distances[out].max() <= distances[kept].min() * 1.1


def test_what_is_left_is_as_far_as_rows_without_a_label_are(rng):
    """Labels come in close groups of three; the other rows are all over the square."""
    centres = rng.uniform(0, 1, (40, 2))
    labelled = np.repeat(centres, 3, axis=0) + 1e-4 * rng.standard_normal((120, 2))
    features = np.vstack([labelled, rng.uniform(0, 1, (800, 2))])
    rows = Rows(np.zeros((920, 1)), np.empty((920, 0)), features)
    near = near_of(rows, np.arange(120), rng)
    for row, out in enumerate(near):
        assert set(range(3 * (row // 3), 3 * (row // 3) + 3)) <= set(out.tolist())
    left = [
        np.min(((labelled[np.setdiff1d(np.arange(120), out)] - labelled[row]) ** 2).sum(axis=1))
        for row, out in enumerate(near)
    ]
    wanted = ((features[120:, None] - labelled) ** 2).sum(axis=2).min(axis=1)
    assert np.sqrt(np.median(left)) == pytest.approx(np.sqrt(np.median(wanted)), rel=0.6)


@pytest.mark.parametrize("width", [0, 2])
def test_without_features_or_other_rows_every_label_is_alone(width, rng):
    rows = Rows(rng.standard_normal((50, 1)), np.empty((50, 0)), rng.uniform(0, 1, (50, width)))
    labelled = np.arange(50) if width else np.arange(10)
    assert [out.tolist() for out in near_of(rows, labelled, rng)] == [[row] for row in range(len(labelled))]
