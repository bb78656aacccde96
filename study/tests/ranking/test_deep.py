"""The deep ranker: it learns what a linear ranker cannot, and keeps its best step."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse_study.ranking.deep import DeepRanker
from manifuse_study.ranking.ranksvm import RankSVM

torch = pytest.importorskip("torch")


@pytest.fixture
def curved(rng):
    X = rng.uniform(-2, 2, (300, 2))
    return X, np.round(3 * np.sum(X**2, axis=1))


def test_an_order_that_no_line_has_is_learned(curved):
    X, y = curved
    ranker = DeepRanker(decay=0.01).fit(X[:150], y[:150], validation=(X[150:225], y[150:225]))
    linear = RankSVM("linear").fit(X[:150], y[:150])
    reached = ranking_accuracy(y[225:], ranker.predict(X[225:]))
    assert reached > 0.93
    assert reached > ranking_accuracy(y[225:], linear.predict(X[225:])) + 0.2


def test_the_step_kept_is_the_best_on_the_validation_rows(curved):
    X, y = curved
    short, long = (
        DeepRanker(epochs=epochs, patience=500).fit(X[:150], y[:150], validation=(X[150:], y[150:]))
        for epochs in (5, 80)
    )
    assert long.validation_accuracy_ >= short.validation_accuracy_
    assert long.validation_accuracy_ == ranking_accuracy(y[150:], long.predict(X[150:]))


def test_training_stops_when_patience_ends(curved):
    X, y = curved
    ranker = DeepRanker(rate=1e-12, patience=3).fit(X, y, validation=(X, y))
    assert ranker.steps_ == 4


def test_the_first_step_goes_down_the_gradient_of_the_pair_loss(curved):
    X, y = curved
    X, y = X[:40], y[:40]

    def loss(ranker):
        scores = ranker.predict(X)
        above = y[:, None] > y[None, :]
        return np.mean(np.log1p(np.exp(-(scores[:, None] - scores[None, :])[above])))

    start, following = (
        loss(DeepRanker(rate=rate, epochs=1, decay=0.0, pairs=10_000).fit(X, y, validation=(X, y)))
        for rate in (1e-9, 1e-3)
    )
    assert following < start


def test_the_same_state_gives_the_same_ranker_whatever_torch_drew_before(curved):
    X, y = curved
    first = DeepRanker(epochs=10).fit(X, y, (X, y)).predict(X)
    torch.manual_seed(7)
    torch.randn(5)
    np.testing.assert_array_equal(DeepRanker(epochs=10).fit(X, y, (X, y)).predict(X), first)


def test_parameters_out_of_range_are_refused_by_the_deep_ranker(curved):
    with pytest.raises(mf.InputError, match="expected"):
        DeepRanker(rate=0.0).fit(*curved, curved)
