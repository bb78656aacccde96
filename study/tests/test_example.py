"""The data sets of the study, as `manifuse.datasets.load` gives them by an entry point."""

import numpy as np
import pytest

import manifuse as mf
from manifuse_study.datasets.dataset import Dataset, Task
from manifuse_study.datasets.source import Source
from manifuse_study.example import load_example


def test_a_data_set_of_the_catalogue_is_an_example(rng, monkeypatch):
    tasks = {name: Task(rng.standard_normal((720, 3)), rng.integers(0, 5, 720).astype(float)) for name in "ab"}
    monkeypatch.setattr(Source, "load", lambda source, folder: Dataset("osr", str(folder), tasks))
    example = load_example("osr", "b", labels=30, seed=1, folder="somewhere")
    assert example.main.name == "b"
    assert [reference.name for reference in example.references] == ["a"]
    rows = example.main.keys.astype(int)
    np.testing.assert_array_equal(example.main.table, tasks["b"].features[rows])
    np.testing.assert_array_equal(example.truth, tasks["b"].labels[rows])


def test_the_digits_are_those_of_the_product():
    found, expected = load_example("digits", None, labels=10, seed=2, folder=None), mf.datasets.load_digits(seed=2)
    np.testing.assert_array_equal(found.main.scores, expected.main.scores)


def test_unknown_names_are_refused():
    with pytest.raises(mf.InputError, match="did you mean 'osr'"):
        load_example("ors", None, labels=10, seed=0, folder=None)
