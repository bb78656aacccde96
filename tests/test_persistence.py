"""Saved refinements: loading gives them back, runs no code, and refuses other files."""

import hashlib
import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

import manifuse as mf
from manifuse.records import write
from manifuse.run import later_rows, persistence
from tests.problems import draw, remade
from tests.test_classes import draw as draw_classes

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


@pytest.mark.parametrize("labelled, features", [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("method", METHODS)
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
    assert repr(write(again.evidence.agreement)) == repr(write(result.evidence.agreement))
    assert again.course.setting == result.course.setting
    assert again.course.tried == result.course.tried
    assert list(again.fitted_model.columns.by_name) == list(result.fitted_model.columns.by_name)
    new = later(case)
    np.testing.assert_array_equal(again.apply(new), result.apply(new))
    np.testing.assert_array_equal(again.apply_in_full(new).support, result.apply_in_full(new).support)
    np.testing.assert_array_equal(again.apply_in_full(new).uncertainty, result.apply_in_full(new).uncertainty)
    np.testing.assert_array_equal(again.apply(case.main), result.predictions)


def test_rounded_probabilities_are_the_same_after_loading(tmp_path):
    """What rows are refined from is divided by its sums before it is saved and before it is used."""
    main, others, labels, _, _ = draw_classes(0, labels=60)
    rounded = mf.Observations(main.came.round(2), main.table, ids=main.keys, classes=main.classes.names)
    assert not np.allclose(main.came.round(2).sum(axis=1), 1.0)
    result = mf.refine(rounded, others, labels, rng=0)
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.main.scores, result.main.scores)
    new = mf.Observations(
        main.came.round(2), main.table + 0.1, ids=range(9000, 9000 + len(main)), classes=main.classes.names
    )
    np.testing.assert_array_equal(again.apply(new), result.apply(new))


def test_every_field_is_kept_but_what_the_refiner_has(saved):
    with np.load(saved) as archive:
        plain = json.loads(bytes(archive["plain"]))["refinement"]
    assert plain.keys() == {field.name for field in fields(mf.Refinement)} - {"refined", "main", "warnings"}


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


def forged(value, rng):
    """Draw another value for a plain one."""
    others = [None, True, -1, 0, 3, 1e308, "inf", "nan", "", "x", [], [1], {}, {"scheme": "ImplicitEuler"}]
    other = others[rng.integers(len(others))]
    return [value, value] if other == value else other


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
    """Change one array: a bit of its content, its shape or its name; or leave it out."""
    name = sorted(set(arrays) - {"plain"})[rng.integers(len(arrays) - 1)]
    array = arrays.pop(name)
    content = bytearray(array.tobytes())
    if content:
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    ways = [
        {},
        {name + "x": array},
        {name: array[None]},
        {name: np.frombuffer(content, array.dtype).reshape(array.shape) if content else array[None]},
    ]
    arrays.update(ways[rng.integers(len(ways))])


@pytest.mark.parametrize(
    "forge", [lambda plain, arrays, rng: forge_plain(plain, rng), lambda plain, *to: forge_array(*to)]
)
def test_whatever_was_changed_a_file_is_refused_in_one_sentence(saved, forge):
    original, rng = saved.read_bytes(), np.random.default_rng(0)
    for _ in range(30):
        saved.write_bytes(original)
        with pytest.raises(mf.InputError) as refusal:
            mf.load(rewritten(saved, lambda plain, arrays: forge(plain, arrays, rng)))
        assert str(refusal.value) == f"{saved} was changed after it was saved; save the refinement again."


def test_the_seal_is_the_checksum_that_the_layout_says(saved):
    with np.load(saved) as archive:
        arrays = dict(archive)
    seal, content = str(arrays.pop("seal")), b""
    for name in sorted(arrays):
        array = arrays[name]
        content += f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes("C")
    assert hashlib.sha256(content).hexdigest() == seal


def test_a_file_that_was_only_packed_again_is_read(saved):
    """The seal is of the content: how it is packed, and in which order, does not matter."""
    with np.load(saved) as archive:
        names = archive.files
        arrays = {name: np.asfortranarray(archive[name]) for name in reversed(names) if archive[name].ndim}
        arrays.update({name: archive[name] for name in names if not archive[name].ndim})
    before = mf.load(saved).predictions
    np.savez_compressed(saved, **arrays)
    np.testing.assert_array_equal(mf.load(saved).predictions, before)


class Boom:
    def __reduce__(self):
        return (pytest.fail, ("something in the file was run",))


def test_nothing_in_a_file_is_run(tmp_path, saved):
    path = tmp_path / "trap.npz"
    path.write_bytes(pickle.dumps(Boom()))
    with pytest.raises(mf.InputError, match="is not a saved refinement"):
        mf.load(path)
    with np.load(saved) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **(arrays | {"refinement/scores": np.array([Boom()], dtype=object)}))
    with pytest.raises(mf.InputError, match="holds Python objects"):
        mf.load(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_cut_short_is_refused(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(mf.InputError, match="is not a saved refinement"):
        mf.load(saved)


def test_other_files_and_names_are_refused(tmp_path):
    with pytest.raises(mf.InputError, match="is a folder, but a file was expected"):
        mf.load(tmp_path)
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


def test_a_refinement_does_not_change_with_the_array_that_came(tmp_path):
    case = draw(0)
    came = case.main.table.copy()
    main = mf.Observations(case.main.scores, came, ids=case.main.keys, name="main")
    result = mf.refine(main, case.references, case.labels(), rng=0)
    later = mf.Observations(case.main.scores, case.main.table, ids=[f"later {key}" for key in case.main.keys])
    expected = mf.refine(case.main, case.references, case.labels(), rng=0).apply(later)
    came *= 2.0
    np.testing.assert_array_equal(result.apply(later), expected)
    mf.save(result, tmp_path / "model.npz")
    np.testing.assert_array_equal(mf.load(tmp_path / "model.npz").apply(later), expected)
