import numpy as np
import pytest

import manifuse as mf


@pytest.mark.parametrize(
    "options, says",
    [
        ({"neighbours": 0}, "whole numbers of at least 1"),
        ({"neighbours": (5, 2.5)}, "whole numbers"),
        ({"folds": 1}, "at least 2"),
        ({"rounds": (5, 10)}, "whole numbers"),
        ({"neighbours": ()}, "at least one value"),
        ({"weight_scale": ()}, "at least one value"),
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
        ({"steps": 0}, "whole numbers of at least 1"),
        ({"ignored": ["A"]}, "a tuple of names"),
        ({"task": "sorting"}, "'ranking' or 'regression'"),
    ],
)
def test_values_out_of_range_are_refused_by_name(options, says):
    with pytest.raises(mf.InputError, match=says) as caught:
        mf.JointDiffusion(**options)
    assert str(caught.value).startswith(next(iter(options)))


def test_settings_are_the_product_of_all_candidates():
    method = mf.JointDiffusion(neighbours=(5, 10), score_scale=(0.1, np.inf), bridge=mf.ExplicitEuler())
    assert [(s.neighbours, s.score_scale) for s in method.settings()] == [
        (5, 0.1),
        (5, np.inf),
        (10, 0.1),
        (10, np.inf),
    ]


def test_the_grid_depends_on_labels():
    method = mf.JointDiffusion()
    assert [len(axis) for axis in method.grid(labelled=True)] == [8, 7]
    assert [len(axis) for axis in method.grid(labelled=False)] == [1, 1]


def test_the_published_form_has_none_of_our_additions():
    method = mf.JointDiffusion.as_published()
    additions = (method.anchored, method.smoothing, method.ignore_chance, method.safeguarded)
    assert not any(additions)
    assert method.selection == "alignment"
    assert all(isinstance(setting.bridge, mf.ExplicitEuler) for setting in method.settings())
    assert {setting.bridge.step for setting in method.settings()} == {1e-5}
