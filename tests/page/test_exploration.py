"""The page gets what the library works on; the library's own f-diffusion solves it here."""

from dataclasses import replace

import numpy as np
import pytest
from tests.page.test_packing import unpack
from tests.problems import draw, remade

import manifuse as mf
from manifuse.diffusion.prediction import diffuse_prediction
from manifuse.page.exploration import (
    Exploration,
    describe,
    open_bridges,
    run_in_full,
    set_as_shown,
    set_bridges,
)


def explored(case, *, labels=True, method=None, held_back=False):
    return Exploration(
        title="toy",
        main=case.main,
        references=tuple(case.references),
        labels=case.labels() if labels else None,
        method=method or mf.JointDiffusion(neighbours=6),
        seed=3,
        held_back=mf.RankLabels(case.main.keys[:50], case.truth[:50]) if held_back else None,
    )


def solve(exploration, method, ignored):
    """The refined predictions, from the columns that the browser gets."""
    facts, arrays = unpack(open_bridges(exploration, exploration.method, lambda stage: None))
    columns = arrays["columns"].T
    columns = np.column_stack([columns, columns[:, 0]]) if facts["anchored"] else columns
    names = [reference["name"] for reference in facts["references"]]
    active = np.ones(columns.shape[1] - 1)
    active[: len(names)] = [name not in ignored for name in names]
    score = exploration.score(exploration.labels)
    run = diffuse_prediction(
        columns,
        columns[:, 0],
        active=active,
        grid=((method.step_size,), (method.weight_scale,)),
        steps=method.steps,
        evaluate=None
        if score is None
        else lambda a: score.evaluate(facts["offset"] + facts["scale"] * (columns[score.rows] @ a.T)),
    )
    return facts["offset"] + facts["scale"] * (columns @ run.path[-1]), facts


def test_new_bridges_are_of_the_scheme_that_was_chosen():
    # The bridges of the first candidate reach almost no row, so the second is chosen.
    method = mf.JointDiffusion(
        neighbours=6,
        bridge=(mf.ExplicitEuler(step=1e-5, steps=1, keep=1), mf.ImplicitEuler(3.0)),
        selection="held-out",
    )
    exploration = explored(draw(1), method=method)
    facts, _ = unpack(open_bridges(exploration, method, lambda stage: None))
    assert facts["bridges"]["candidate"] == 1
    asked = set_bridges(exploration, neighbours=4, score_scale=0.1, step=5.0, candidate=1)
    assert asked.bridge == mf.ImplicitEuler(5.0)
    again, _ = unpack(open_bridges(exploration, asked, lambda stage: None))
    assert again["bridges"]["candidate"] == 1


@pytest.mark.parametrize("ignored", [(), ("reference 2",)])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("kind", ["decoupled", "coupled", "plain", "explicit"])
def test_the_columns_give_what_refine_gives_of_the_method_that_is_exported(kind, labels, ignored):
    method = {
        "decoupled": mf.JointDiffusion(neighbours=6),
        "coupled": mf.JointDiffusion(),
        "plain": mf.JointDiffusion(neighbours=(5, 8), anchored=False, smoothing=0.0),
        "explicit": mf.JointDiffusion(neighbours=6, bridge=mf.ExplicitEuler(step=0.3, steps=3), standardised=True),
    }[kind]
    exploration = explored(draw(1, features=kind != "coupled"), labels=labels, method=method)
    shown = set_as_shown(method, step_size=0.7, weight_scale=0.4, steps=3, ignored=ignored)
    predictions, _ = solve(exploration, shown, ignored)
    result = mf.refine(exploration.main, exploration.references, exploration.labels, shown, rng=3)
    np.testing.assert_allclose(predictions, result.predictions, rtol=0, atol=1e-12)
    assert np.max(np.abs(predictions - exploration.main.scores)) > 1e-3


def test_a_reference_at_chance_takes_part_in_a_round_unless_it_is_switched_off(rng):
    case = draw(1)
    noise = remade(case.references[1], predictions=rng.standard_normal(160))
    exploration = replace(explored(case, labels=False), references=(case.references[0], noise))
    shown = set_as_shown(exploration.method, step_size=0.7, weight_scale=0.4, steps=1, ignored=())
    predictions, facts = solve(exploration, shown, ())
    assert [entry["active"] for entry in facts["references"]] == [True, True]
    result = mf.refine(exploration.main, exploration.references, method=shown, rng=3)
    assert result.weights[1] > 0
    np.testing.assert_allclose(predictions, result.predictions, rtol=0, atol=1e-12)


def test_with_every_reference_switched_off_the_scores_stay_as_they_came():
    exploration = explored(draw(0))
    names = tuple(reference.name for reference in exploration.references)
    shown = set_as_shown(exploration.method, step_size=1.0, weight_scale=1.0, steps=2, ignored=names)
    _, arrays = unpack(run_in_full(exploration, shown, lambda stage: None))
    np.testing.assert_array_equal(arrays["predictions"], exploration.main.scores)


def test_the_page_reports_the_same_about_the_pairs_as_refine():
    case = draw(2)
    exploration = explored(case, held_back=True)
    stages = []
    facts, _ = unpack(open_bridges(exploration, exploration.method, stages.append))
    result = mf.refine(case.main, case.references, case.labels(), exploration.method, rng=3)
    for sent, entry in zip(facts["references"], result.relevance, strict=True):
        said = (sent["alignment"], sent["chance"], sent["pairs"], sent["active"])
        assert said == (entry.held_out_alignment, entry.chance_alignment, entry.pairs, True)
    assert len(stages) == len(set(stages)) > 3
    facts, arrays = unpack(run_in_full(exploration, exploration.method, stages.append))
    assert facts["accuracy"] == result.to_dict()["accuracy"]
    assert 0.5 < facts["held_back"] <= 1
    np.testing.assert_array_equal(arrays["predictions"], result.predictions)


def test_the_page_learns_which_references_take_no_part():
    case = draw(0)
    constant = remade(case.references[1], predictions=np.full(160, 3.0))
    exploration = replace(explored(case), references=(case.references[0], constant))
    with pytest.warns(mf.ManifuseWarning, match="weight 0"):
        sent = open_bridges(exploration, mf.JointDiffusion(ignored=("reference 1",)), lambda stage: None)
    facts, _ = unpack(sent)
    assert [entry["active"] for entry in facts["references"]] == [False, False]
    assert [entry["idle"] for entry in facts["references"]] == [False, True]


def test_ids_and_labels_of_every_kind_are_described():
    case = draw(0)
    facts, arrays = unpack(describe(explored(case, held_back=True)))
    assert facts["ids"] == case.main.keys.tolist()
    np.testing.assert_array_equal(arrays["labels_grades"], case.labels().grades)
    assert (facts["labels"], facts["held_back"]) == ("GradedRanking", "GradedRanking")
    assert len(facts["step_sizes"]) * len(facts["weight_scales"]) == 56
    pairs = mf.RankLabels.from_pairs(case.main.keys[:9], case.main.keys[9:18])
    facts, arrays = unpack(describe(replace(explored(case, labels=False), labels=pairs)))
    assert facts["labels"] == "PairedRanking"
    rows = arrays["labels_rows"][arrays["labels_better"]]
    assert case.main.keys[rows].tolist() == case.main.keys[:9].tolist()
    regression = mf.JointDiffusion(task="regression", step_size=(0.1, 1.0))
    facts, arrays = unpack(describe(explored(case, method=regression)))
    assert facts["labels"] == "SquaredError"
    assert facts["step_sizes"] == [0.1, 1.0]
    assert unpack(describe(explored(case, labels=False)))[0]["labels"] is None
