"""Saved refinements: loading gives them back, runs no code, and refuses other files."""

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

import manifuse as mf
from manifuse.run import later_rows, persistence
from tests.problems import draw, remade

METHODS = {
    "default": mf.JointDiffusion(),
    "told": mf.JointDiffusion(same_target=True),
    "explicit, to choose from": mf.JointDiffusion(
        diffusion=mf.Algorithm1(
            bridge=(mf.ExplicitEuler(keep=5), mf.ExplicitEuler(keep=10)), rounds=2, score_scale=(0.1, np.inf)
        )
    ),
    "plain": mf.JointDiffusion(diffusion=mf.Algorithm1(anchored=False, smoothing=0.0, rounds=3), same_target=True),
}


#: Where a file has the bridges.
BRIDGES = "refinement/fitted_model/columns/diffused/bridges"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Later rows in small blocks, because a block is filled up."""
    monkeypatch.setattr(later_rows, "BLOCK", 64)


def later(case, *, features=True):
    """Rows near those of the main table, with their own ids."""
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
    for name in ("accepted", "reason", "relevance", "history", "gain", "worth", "accuracy", "method", "seed"):
        # They are compared as text: there a score of NaN equals itself, and no digit is lost.
        assert repr(getattr(again, name)) == repr(getattr(result, name)), name
    for name in ("predictions", "weights", "support", "uncertainty"):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name))
    assert repr(again.evidence.agreement.to_record()) == repr(result.evidence.agreement.to_record())
    assert again.course.setting == result.course.setting
    assert again.course.trials == result.course.trials
    new = later(case)
    np.testing.assert_array_equal(again.apply(new), result.apply(new))
    np.testing.assert_array_equal(again.apply_in_full(new).support, result.apply_in_full(new).support)
    np.testing.assert_array_equal(again.apply_in_full(new).uncertainty, result.apply_in_full(new).uncertainty)
    np.testing.assert_array_equal(again.apply(case.main), result.predictions)


def test_every_field_is_kept_but_what_the_refiner_has(saved):
    with np.load(saved) as archive:
        plain = json.loads(bytes(archive["plain"]))["refinement"]
    assert plain.keys() == {field.name for field in fields(mf.Refinement)} - {"refined", "main"}


def test_a_file_has_no_names_of_private_classes(saved):
    with np.load(saved) as archive:
        words = " ".join([*archive.files, bytes(archive["plain"]).decode()])
    private = {"Refinement", "Course", "Evidence", "Setting", "Fit", "Lookup", "Anchor", "Graph", "Observations"}
    private |= {"FittedModel", "Columns", "Lesson", "Covariance", "Level", "Mixed", "Imputed", "Learned", "Agreement"}
    assert not [name for name in private if name in words]


def test_a_combiner_is_kept_without_pickling(tmp_path):
    case = draw(0)
    combiner = mf.PredictorCombiner(case.references, random_state=0).fit(case.main, case.labels())
    combiner.save(tmp_path / "combiner.npz")
    again = mf.PredictorCombiner.load(tmp_path / "combiner.npz")
    np.testing.assert_array_equal(again.transform(later(case)), combiner.transform(later(case)))


def rewritten(path, change):
    """Write the same file with its plain values or its arrays changed."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    content = json.loads(bytes(arrays["plain"]))
    change(content["refinement"], arrays)
    arrays["plain"] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    return path


def change_array(path, change):
    """A change of one array of the fitted model."""
    return lambda plain, arrays: arrays.update(
        {f"refinement/fitted_model/{path}": change(arrays[f"refinement/fitted_model/{path}"])}
    )


def test_another_format_is_refused(saved):
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    for content, says in (
        ({"format": 99}, f"has the format 99, but this version reads {persistence.FORMAT}"),
        ({}, "not a saved refinement"),
    ):
        arrays["plain"] = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)
        np.savez(saved, **arrays)
        with pytest.raises(mf.InputError, match=says):
            mf.load(saved)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda plain, arrays: plain.pop("seed"), "it should have"),
        (lambda plain, arrays: plain.update(value="Popen"), "it should have"),
        (lambda plain, arrays: plain.update(fitted_model=7), "is damaged"),
        (lambda plain, arrays: plain.update(seed={"eval": "1"}), "seed is not a"),
        (lambda plain, arrays: plain["evidence"]["verdict"].update(accepted=1), "accepted is not a"),
        (lambda plain, arrays: plain["evidence"]["verdict"].update(reason="SLEPT"), "SLEPT"),
        (lambda plain, arrays: plain["method"]["diffusion"].update(rounds=-1), "rounds=-1"),
        (lambda plain, arrays: plain["method"].update(surprise=1), "it should have"),
        (lambda plain, arrays: plain["method"]["diffusion"].update(step_size="fast"), "step_size is not a"),
        (lambda plain, arrays: plain["course"]["recall"].pop(), "what was chosen does not fit together"),
        (
            lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"]["bridges"]["anchors"].pop("1"),
            "is damaged",
        ),
        (
            lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"]["bridges"]["anchors"].pop("0"),
            "are not numbered",
        ),
        (
            lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"]["bridges"]["setting"].update(
                neighbours=0
            ),
            "neighbours=0",
        ),
        (
            lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"]["bridges"]["setting"].update(
                bridge={"scheme": "eval"}
            ),
            "eval",
        ),
        (lambda plain, arrays: arrays.pop("refinement/fitted_model/columns/expected/pulls"), "expected/pulls"),
        (
            lambda plain, arrays: arrays.update({"refinement/fitted_model/columns/expected/pulls": np.ones(3)}),
            "references of what is expected do not fit together",
        ),
        (
            lambda plain, arrays: arrays.update({"refinement/fitted_model/fitted/support": np.full(160, np.nan)}),
            "uncertainty is out of range",
        ),
        (
            lambda plain, arrays: arrays.update(
                {"refinement/fitted_model/columns/diffused/coefficients": np.ones((2, 3))}
            ),
            "mix other columns",
        ),
        (
            lambda plain, arrays: arrays.update({f"{BRIDGES}/graph/scales": -arrays[f"{BRIDGES}/graph/scales"]}),
            "local scales of a graph do not fit",
        ),
        (lambda plain, arrays: plain["evidence"]["measured"]["gain"].update(rows=10**30), "a count is out of range"),
        (lambda plain, arrays: plain["evidence"]["relevance"][0].update(pairs=-1), "a count is out of range"),
        (lambda plain, arrays: plain["course"]["history"][0].update(step=10**30), "a count is out of range"),
        (lambda plain, arrays: plain["evidence"]["agreement"].update(gain="inf"), "answered is out of range"),
        (lambda plain, arrays: plain["fitted_model"]["columns"]["refined"].update(other="nowhere"), "nowhere"),
        (lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"].update(source="nowhere"), "nowhere"),
        (lambda plain, arrays: plain["fitted_model"]["scored"].update(error_scale=None), "not those of the fit"),
        (
            lambda plain, arrays: plain["fitted_model"]["columns"]["diffused"]["bridges"]["setting"]["bridge"].update(
                step=1e4, tolerance=1e-300
            ),
            "at most 2048 polynomials",
        ),
        (change_array("fitted/scores", lambda scores: scores[:, None]), "not those of the fit"),
        (change_array("fitted/uncertainty", lambda array: array[:, None]), "do not fit together"),
        (change_array("fitted/support", lambda support: support + 2.0), "out of range"),
        (change_array("columns/expected/pulls", lambda pulls: -pulls), "expected is out of range"),
        (change_array("joining/scales", lambda scales: scales[:, None]), "cannot be joined"),
        (change_array("main/came", lambda scores: scores.astype(np.longdouble)), "holds numbers as"),
        (change_array("columns/refined/level/mean", lambda mean: mean[:0]), "is damaged"),
    ],
)
def test_what_does_not_fit_together_is_refused_in_one_sentence(saved, change, says):
    with pytest.raises(mf.InputError, match=says) as refusal:
        mf.load(rewritten(saved, change))
    assert "\n" not in str(refusal.value)


def test_a_broken_graph_is_refused(saved):
    def lengthen(plain, arrays):
        arrays[f"{BRIDGES}/graph/weights/indices"] += 10_000

    with pytest.raises(mf.InputError, match="is damaged"):
        mf.load(rewritten(saved, lengthen))


def forged(value, rng):
    """Draw another value for a plain one."""
    others = [None, True, -1, 0, 3, 1e308, "inf", "nan", "", "x", [], [1], {}, {"scheme": "ImplicitEuler"}]
    return others[rng.integers(len(others))] if rng.random() < 0.8 else [value, value]


def forge_plain(tree, rng):
    """Change one value somewhere in a tree."""
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = keys[rng.integers(len(keys))]
    if isinstance(tree[key], dict | list) and tree[key] and rng.random() < 0.8:
        forge_plain(tree[key], rng)
    elif isinstance(tree, dict) and rng.random() < 0.2:
        del tree[key]
    else:
        tree[key] = forged(tree[key], rng)


def forge_array(arrays, rng):
    """Change one array: other numbers, another shape, another type, or another name."""
    name = sorted(set(arrays) - {"plain"})[rng.integers(len(arrays) - 1)]
    array = arrays.pop(name)
    ways = [
        dict,
        lambda: {name + "x": array},
        lambda: {name: array[:-1] if array.ndim else array[None, None]},
        lambda: {name: array[None]},
        lambda: {name: np.zeros_like(array)},
        lambda: {name: array.astype(str)},
        lambda: {name: array if array.dtype.kind in "Ub" else -array},
        lambda: {name: array if array.dtype.kind == "U" else array.astype(float) * np.nan},
        lambda: {name: array if array.dtype.kind == "U" else array.astype(float) * 1e300},
        lambda: {name: rng.permutation(array) if array.ndim else np.array([array, array])},
    ]
    arrays.update(ways[rng.integers(len(ways))]())


def refusal_of(function):
    """Return the result of a function, or the message of its refusal."""
    try:
        return function()
    except mf.InputError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(4))
def test_of_many_forged_files_each_is_refused_or_works(seed, tmp_path):
    """A forged file is refused in one sentence, or it applies without any other error."""
    case, rng = draw(seed, rows=60, pairs=40, features=seed % 2 == 0), np.random.default_rng(seed)
    method = mf.JointDiffusion(diffusion=mf.Algorithm1(rounds=3))
    mf.save(mf.refine(case.main, case.references, case.labels(), method, rng=0), tmp_path / "model.npz")
    original, refused, accepted = (tmp_path / "model.npz").read_bytes(), 0, 0
    for _ in range(120):
        (tmp_path / "model.npz").write_bytes(original)

        def change(plain, arrays):
            if rng.random() < 0.5:
                forge_plain(plain, rng)
            else:
                forge_array(arrays, rng)

        again = refusal_of(lambda: mf.load(rewritten(tmp_path / "model.npz", change)))
        if isinstance(again, str):
            assert "\n" not in again
            refused += 1
            continue
        accepted += 1
        if accepted % 4 == 0:  # repeating the rounds takes most of the time
            with np.errstate(all="ignore"):
                applied = refusal_of(lambda: again.apply(later(case)))  # noqa: B023
            assert "\n" not in applied if isinstance(applied, str) else len(applied) == 12
        assert "Refinement" in repr(again)
        assert again.to_dict()
        assert again.summary()
    assert refused > 60


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
    np.savez(path, **(arrays | {"refinement/scores": np.array([Boom()], dtype=object)}))
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
    with pytest.raises(mf.InputError, match="not a saved refinement"):
        mf.load(tmp_path / "other.npz")
    with pytest.raises(mf.InputError, match=r"nowhere\.npz is not there"):
        mf.load(tmp_path / "nowhere.npz")
    case = draw(6, features=False)
    result = mf.refine(case.main, case.references, rng=0)
    with pytest.raises(mf.InputError, match=r"saved refinements end in \.npz"):
        mf.save(result, tmp_path / "model.pkl")
    with pytest.raises(mf.InputError, match="is not there"):
        mf.save(result, tmp_path / "nowhere" / "model.npz")
    with pytest.raises(mf.InputError, match="Refinement was expected"):
        mf.save(case.main, tmp_path / "model.npz")


def test_a_failed_save_keeps_the_file_that_was_there(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence.np, "savez", full)
    case = draw(6, features=False)
    with pytest.raises(mf.InputError, match="No space left"):
        mf.save(mf.refine(case.main, case.references, rng=0), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


def test_features_are_still_needed_after_loading(saved):
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
