import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import manifuse as mf
from tests.problems import draw


@pytest.fixture
def case():
    return draw(0)


def test_it_does_what_refine_does(case):
    combiner = mf.PredictorCombiner(case.references, random_state=3)
    direct = mf.refine(case.main, case.references, case.labels(), rng=3)
    np.testing.assert_array_equal(combiner.fit_transform(case.main, case.labels()), direct.predictions)
    assert combiner.refinement_.relevance == direct.relevance


def test_hyperparameters_are_parameters(case):
    combiner = mf.PredictorCombiner(case.references)
    assert combiner.get_params()["method__neighbours"] == 10
    combiner.set_params(method__neighbours=7, random_state=1)
    assert combiner.method == mf.JointDiffusion(neighbours=7)
    assert combiner.get_params()["random_state"] == 1
    assert "method__neighbours" not in combiner.get_params(deep=False)


def test_a_clone_has_the_parameters_and_not_the_fit(case):
    fitted = mf.PredictorCombiner(case.references, mf.JointDiffusion(rounds=2), random_state=0).fit(case.main)
    twin = clone(fitted)
    assert twin.method == fitted.method
    with pytest.raises(NotFittedError):
        twin.transform(case.main)
    np.testing.assert_array_equal(twin.fit(case.main).transform(case.main), fitted.transform(case.main))


def test_repr_names_what_was_set(case):
    assert "rounds=2" in repr(mf.PredictorCombiner(method=mf.JointDiffusion(rounds=2)))


@pytest.mark.parametrize("call", [lambda c: c.set_params(method__depth=3), lambda c: c.fit([1.0, 2.0])])
def test_strange_arguments_are_refused(call):
    with pytest.raises(mf.InputError):
        call(mf.PredictorCombiner())
