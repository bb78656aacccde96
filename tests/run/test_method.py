import numpy as np
import pytest

import manifuse as mf
from manifuse.run.method import parameters_of, with_parameters


@pytest.mark.parametrize(
    "options, says",
    [
        ({"neighbours": 0}, "whole numbers from 1 to"),
        ({"neighbours": (5, 2.5)}, "whole numbers"),
        ({"folds": 1}, "from 2 to"),
        ({"rounds": (5, 10)}, "whole numbers"),
        ({"neighbours": ()}, "one value or several were"),
        ({"weight_scale": ()}, "one value or several were"),
        ({"step_size": [1.0, 2.0]}, "positive numbers"),
        ({"step_size": "1"}, "positive numbers"),
        ({"settled": "x"}, "at least 0"),
        ({"score_scale": -1.0}, "positive"),
        ({"score_scale": float("nan")}, "positive"),
        ({"step_size": (1.0, 0.0)}, "positive"),
        ({"step_size": np.inf}, "finite"),
        ({"weight_scale": 0.0}, "positive"),
        ({"settled": -1.0}, "at least 0"),
        ({"smoothing": np.inf}, "at least 0"),
        ({"bridge": "implicit"}, "ImplicitEuler"),
        ({"standardised": (True, "no")}, "True, False or a tuple"),
        ({"selection": "best"}, "'held-out' or 'alignment'"),
        ({"search": "kd-tree"}, "'auto' or 'exact'"),
        ({"steps": 0}, "whole numbers from 1 to"),
    ],
)
def test_values_out_of_range_are_refused_by_name(options, says):
    with pytest.raises(mf.InputError, match=says) as caught:
        mf.Algorithm1(**options)
    assert str(caught.value).startswith(next(iter(options)))


def test_settings_are_the_product_of_all_candidates():
    method = mf.Algorithm1(neighbours=(5, 10), score_scale=(0.1, np.inf), bridge=mf.ExplicitEuler())
    assert [(s.neighbours, s.score_scale) for s in method.settings()] == [
        (5, 0.1),
        (5, np.inf),
        (10, 0.1),
        (10, np.inf),
    ]


def test_labels_choose_from_no_grid():
    assert mf.Algorithm1().grid == ((1.0,), (0.3,))
    with pytest.raises(mf.InputError, match="labels teach and do not choose among them; give one value of each"):
        mf.JointDiffusion(diffusion=mf.Algorithm1(step_size=(1.0, 2.0)))


@pytest.mark.parametrize(
    "options, says",
    [
        ({"ignored": "A"}, "names of references"),
        ({"task": "sorting"}, "'ranking' or 'regression'"),
        ({"same_target": "yes"}, "True, False or None"),
        ({"safeguarded": 1}, "True or False"),
        ({"diffusion": 1.0}, "an Algorithm1"),
        ({"fitted_rows": 10**12}, "to 1,000,000,000"),
    ],
)
def test_values_of_the_method_out_of_range_are_refused_by_name(options, says):
    with pytest.raises(mf.InputError, match=says) as caught:
        mf.JointDiffusion(**options)
    assert str(caught.value).startswith(next(iter(options)))


def test_parameters_have_names_that_change_them():
    names = parameters_of(mf.JointDiffusion())
    changed = with_parameters(mf.JointDiffusion(), {"same_target": True, "diffusion__rounds": 3})
    assert parameters_of(changed) == names | {
        "same_target": True,
        "diffusion__rounds": 3,
        "diffusion": mf.Algorithm1(rounds=3),
    }
    with pytest.raises(mf.InputError, match="did you mean 'diffusion__rounds'"):
        with_parameters(mf.JointDiffusion(), {"diffusion__round": 3})
    with pytest.raises(mf.InputError, match=r"no hyperparameter named 'labels_file'\. There are: "):
        with_parameters(mf.JointDiffusion(), {"labels_file": 3})
