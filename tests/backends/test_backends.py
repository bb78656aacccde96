"""The same problem, on every backend, with every kind of neighbours."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import euclidean_distances
from tests.alone import GRID, alone
from tests.problems import draw, remade

import manifuse as mf
from manifuse.backends.backend import Backend
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.diffusion.joint import mix, mixture
from manifuse.kernels import feature_blocks, tensors
from manifuse.tables.containers import device_of


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module")
def later(case):
    """Return later rows, each near a fitted one."""
    return mf.Observations(
        case.main.scores[:20] + 0.1, case.main.table[:20] + 0.01, ids=[f"l{row}" for row in range(20)]
    )


def refined(case, backend=None, **options):
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(**options))
    return mf.refine(case.main, case.references, case.labels(), method, rng=0, backend=backend)


def diffused(case, backend=None, **options):
    return alone(case.main, case.references, case.labels(), replace(GRID, **options), backend=backend)


# The most probable variances of a lesson are found to about 1e-7, because a height is rounded near its top. Short
# steps need few polynomials, each of which starts threads here.
@pytest.mark.parametrize(
    "run, method, within",
    [
        (refined, {"bridge": mf.ImplicitEuler(step=1.0), "smoothing": 1.0}, 1e-6),
        (diffused, {"bridge": mf.ExplicitEuler(step=0.3, steps=3), "rounds": 2}, 1e-9),
    ],
)
def test_order_blocks_of_columns_and_threads_change_no_result(case, later, run, method, within, monkeypatch):
    plain = run(case, **method)
    monkeypatch.setattr(feature_blocks, "NUMBERS", 100)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    large = run(case, mf.Host(ordered_rows=10), **method)
    np.testing.assert_allclose(large.predictions, plain.predictions, atol=within)
    np.testing.assert_allclose(large.support, plain.support, atol=within)
    np.testing.assert_allclose(large.apply(later), plain.apply(later), atol=within)


@pytest.mark.parametrize("method", [{}, {"bridge": mf.ExplicitEuler(step=0.3, steps=3), "anchored": False}])
def test_repeated_rounds_end_at_the_refined_predictions(case, method):
    # Without labels there are several rounds.
    algorithm = mf.Algorithm1(**method)
    result = alone(case.main, case.references, method=algorithm)
    diffused = result.fitted_model.columns.diffused
    rounds = diffused.rounds
    assert len(rounds) == len(diffused.coefficients) > 2
    origin = rounds[0].start if algorithm.anchored else None
    end = mix(
        mixture(rounds[-1].start, rounds[-1].arrival.columns(), origin),
        diffused.coefficients[-1],
        rounds[-1].start.shape,
    )
    np.testing.assert_array_equal(end, result.path.predictions)


def test_a_refinement_over_an_ordered_graph_is_saved(case, later, tmp_path):
    large = refined(case, mf.Host(ordered_rows=10))
    mf.save(large, tmp_path / "model.npz")
    np.testing.assert_array_equal(mf.load(tmp_path / "model.npz").apply(later), large.apply(later))


def test_torch_finds_what_the_host_finds(case, later):
    torch_on_cpu = mf.Torch("cpu", distances=7 * len(case.main), differences=100)
    here, there = refined(case), refined(case, torch_on_cpu)
    np.testing.assert_allclose(there.predictions, here.predictions, atol=1e-5)
    assert min(there.course.recall) == 1.0
    np.testing.assert_allclose(there.apply(later), here.apply(later), atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 1e-200])
def test_torch_weighs_edges_as_the_host_does(scale, rng):
    """Also where the product of two local scales is out of the range of numbers."""
    squares = scale * euclidean_distances(rng.standard_normal((20, 2)), squared=True)
    indices = np.argsort(squares, axis=1)[:, 1:5]
    found = Neighbours(indices, np.take_along_axis(squares, indices, axis=1), recall=1.0, standardised=False)
    here, there = mf.Host().graph(found, 3), mf.Torch("cpu").graph(found, 3).on_host()
    np.testing.assert_allclose(there.degrees(np.zeros(20), 1.0), here.degrees(np.zeros(20), 1.0), rtol=1e-12)


def test_a_refinement_made_by_torch_is_saved_and_applied_without_it(case, later, tmp_path):
    result = refined(case, mf.Torch("cpu"))
    mf.save(result, tmp_path / "model.npz")
    np.testing.assert_allclose(mf.load(tmp_path / "model.npz").apply(later), result.apply(later), atol=1e-10)


@pytest.mark.parametrize("device", ["mars", "mps"])
def test_a_device_that_is_not_there_is_refused_in_one_sentence(device):
    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has such a device")
    with pytest.raises(mf.InputError, match=f"torch cannot use the device '{device}'") as refused:
        mf.Torch(device)
    assert len(str(refused.value)) < 300


def test_a_value_that_is_not_a_backend_is_refused(case):
    with pytest.raises(mf.InputError, match="str came where Backend was expected"):
        refined(case, "cuda")


def test_features_of_either_precision_are_not_copied(rng, tmp_path):
    for dtype in (np.float32, np.float64):
        features = rng.random((6, 2)).astype(dtype)
        np.save(tmp_path / "features.npy", features)
        on_disk = np.load(tmp_path / "features.npy", mmap_mode="r")
        for given in (features, on_disk):
            assert np.shares_memory(mf.Observations(range(6), given, ids=range(6)).table, given)


def test_the_work_is_done_where_the_tensors_are(case, monkeypatch):
    asked = []

    class Elsewhere(Backend):
        def __init__(self, device):
            asked.append(device)

        def search(self, *arguments, **options):
            return mf.Host().search(*arguments, **options)

        def graph(self, *arguments):
            return mf.Host().graph(*arguments)

        def search_bytes(self, features):
            return 0

        def edge_bytes(self):
            return 12

        def free_memory(self):
            return None

    monkeypatch.setattr("manifuse.run.refine.Torch", Elsewhere)
    monkeypatch.setattr("manifuse.tables.observations.device_of", lambda values: "cuda:1")
    main = remade(case.main)
    np.testing.assert_array_equal(
        mf.refine(main, case.references, rng=0).predictions, mf.refine(case.main, case.references, rng=0).predictions
    )
    assert asked == ["cuda:1"]


def test_the_device_of_the_input_is_known():
    assert device_of(torch.zeros(2)) is None
    assert device_of(torch.zeros(2, device="meta")) == "meta"
    assert device_of(np.zeros(2)) is None


def clusters(rng, apart):
    """Two groups of rows far from each other: distances within a group are small beside distances from the mean."""
    return np.vstack([rng.standard_normal((150, 4)), apart + rng.standard_normal((150, 4))])


@pytest.mark.parametrize("standardised", [True, False])
@pytest.mark.parametrize("apart, scale", [(1e4, 1.0), (1e6, 1.0), (0.0, 1e-25), (0.0, 1e25), (0.0, 1e60)])
def test_torch_finds_neighbours_far_from_the_mean(standardised, apart, scale, rng):
    features = scale * clusters(rng, apart)
    backends, query = (mf.Host(), mf.Torch("cpu")), Query(5, standardised)
    here, there = (backend.search(features, query, np.random.default_rng(0)) for backend in backends)
    # The device gets distances from products, whose rounding grows with the distance from the mean.
    np.testing.assert_allclose(there.distances, here.distances, rtol=max(1e-6, 4e-15 * apart**2))
    assert there.recall == 1.0


def test_a_search_by_torch_with_low_recall_warns(rng, monkeypatch):
    monkeypatch.setattr(
        tensors, "nearest_rows", lambda torch, table, count, at_once: torch.arange(300).repeat(count, 1).T
    )
    with pytest.warns(mf.ManifuseWarning, match="of the true neighbours"):
        mf.Torch("cpu").search(clusters(rng, 0.0), Query(5, True), rng)
