"""Saved refinements: the same after loading, nothing run by it, and what is no such file refused."""

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

import manifuse as mf
from manifuse import persistence
from tests.problems import draw, remade

METHODS = {
    "implicit": mf.JointDiffusion(),
    "explicit, to choose from": mf.JointDiffusion(
        bridge=(mf.ExplicitEuler(keep=5), mf.ExplicitEuler(keep=10)), rounds=2, score_scale=(0.1, np.inf)
    ),
    "plain": mf.JointDiffusion(presmoothed=False, anchored=False, smoothing=0.0, rounds=3),
}


def later(case, *, features=True):
    """Rows near those of the main table, under ids of their own."""
    table = None if case.main.table is None or not features else case.main.table[:12] + 0.02
    return mf.Observations(case.main.scores[:12] + 0.1, table, ids=[f"later {row}" for row in range(12)])


@pytest.fixture
def saved(tmp_path):
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    mf.save(result, tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("features", [True, False], ids=["decoupled", "coupled"])
def test_what_is_loaded_is_what_was_saved(method, labelled, features, tmp_path):
    case = draw(1, features=features)
    result = mf.refine(case.main, case.references, case.labels() if labelled else None, METHODS[method], rng=3)
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    for name in ("accepted", "reason", "relevance", "history", "gain", "accuracy", "method", "seed"):
        # As text, in which a score of NaN equals itself and no digit is lost.
        assert repr(getattr(again, name)) == repr(getattr(result, name)), name
    for name in ("predictions", "weights", "support"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert again.choice.setting == result.choice.setting
    assert again.choice.trials == result.choice.trials
    new = later(case)
    np.testing.assert_array_equal(again.apply(new), result.apply(new))
    np.testing.assert_array_equal(again.support_of(new), result.support_of(new))
    np.testing.assert_array_equal(again.apply(case.main), result.predictions)


def test_every_field_is_kept_but_the_container_of_the_predictions(saved):
    tree = json.loads(bytes(np.load(saved)["json"]))["refinement"]
    kept = set(tree["fields"])
    assert kept == {field.name for field in fields(mf.Refinement)} - {"predictions"}


def test_a_combiner_is_kept_without_pickling(tmp_path):
    case = draw(0)
    combiner = mf.PredictorCombiner(case.references, random_state=0).fit(case.main, case.labels())
    combiner.save(tmp_path / "combiner.npz")
    again = mf.PredictorCombiner.load(tmp_path / "combiner.npz")
    np.testing.assert_array_equal(again.transform(later(case)), combiner.transform(later(case)))


def rewritten(path, change):
    """The same file with its text changed."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    content = json.loads(bytes(arrays["json"]))
    change(content, arrays)
    arrays["json"] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda content, arrays: content.update(format=99), "format 99, but this version reads 2"),
        (lambda content, arrays: content.pop("format"), "no saved refinement"),
        (lambda content, arrays: content.update(refinement=7), "is damaged"),
        (lambda content, arrays: content["refinement"].update(value="Popen"), "is damaged"),
        (lambda content, arrays: content["refinement"]["fields"].pop("weights"), "is damaged"),
        (lambda content, arrays: content["refinement"]["fields"].update(weights=3), "weights of Refinement is a int"),
        (lambda content, arrays: content["refinement"]["fields"].update(reason={"reason": "SLEPT"}), "is damaged"),
        (lambda content, arrays: content["refinement"]["fields"].update(seed={"eval": "1"}), "nothing that is saved"),
        (lambda content, arrays: arrays.pop("array0"), "is damaged"),
        (lambda content, arrays: arrays.update(array0=np.ones(3)), "different sizes"),
        (lambda content, arrays: content["refinement"]["fields"]["method"]["fields"].update(rounds=-1), "rounds=-1"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_sentence(saved, change, says):
    with pytest.raises(mf.InputError, match=says) as refusal:
        mf.load(rewritten(saved, change))
    assert "\n" not in str(refusal.value)


def test_a_broken_graph_is_refused(saved):
    def lengthen(content, arrays):
        graph = content["refinement"]["fields"]["_extension"]["fields"]["graph"]["fields"]
        name = graph["weights"]["sparse"]["indices"]["array"]
        arrays[name] = arrays[name] + 10_000

    with pytest.raises(mf.InputError, match="is damaged"):
        mf.load(rewritten(saved, lengthen))


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("something in the file was run",))


def test_nothing_in_a_file_is_run(tmp_path, saved):
    path = tmp_path / "trap.npz"
    path.write_bytes(pickle.dumps(Boom()))
    with pytest.raises(mf.InputError, match="cannot be read as a NumPy archive"):
        mf.load(path)
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **(arrays | {"array0": np.array([Boom()], dtype=object)}))
    with pytest.raises(mf.InputError, match="cannot be read as a NumPy archive"):
        mf.load(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_cut_short_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(mf.InputError, match="cannot be read as a NumPy archive"):
        mf.load(saved)


def test_other_files_and_names_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", scores=np.ones(3))
    with pytest.raises(mf.InputError, match="no saved refinement"):
        mf.load(tmp_path / "other.npz")
    with pytest.raises(mf.InputError, match="cannot be read"):
        mf.load(tmp_path / "nowhere.npz")
    case = draw(6, features=False)
    result = mf.refine(case.main, case.references, rng=0)
    with pytest.raises(mf.InputError, match=r"saved refinements end in \.npz"):
        mf.save(result, tmp_path / "model.pkl")
    with pytest.raises(mf.InputError, match="is not there"):
        mf.save(result, tmp_path / "nowhere" / "model.npz")
    with pytest.raises(mf.InputError, match="Refinement was expected"):
        mf.save(case.main, tmp_path / "model.npz")


def test_a_failed_save_leaves_what_was_there(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence.np, "savez", full)
    case = draw(6, features=False)
    with pytest.raises(mf.InputError, match="No space left"):
        mf.save(mf.refine(case.main, case.references, rng=0), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


def test_features_are_still_asked_for_after_loading(saved):
    case = draw(0)
    with pytest.raises(mf.InputError, match="was fitted with 6"):
        mf.load(saved).apply(later(case, features=False))


def test_tables_in_any_library_come_back_as_arrays(tmp_path):
    import pandas as pd

    case = draw(6, features=False)
    main = remade(case.main, predictions=pd.Series(case.main.scores, name="ours"))
    result = mf.refine(main, case.references, rng=0)
    mf.save(result, tmp_path / "model.npz")
    np.testing.assert_array_equal(mf.load(tmp_path / "model.npz").predictions, result.predictions.to_numpy())
