"""What the page asks of `refine`, and what it shows of the answer, is what the library says."""

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.page.exploration import Exploration, describe, run
from manifuse.page.shown import explain_row, show
from manifuse.report.refinement_page import page_of
from manifuse.words.findings import findings_of
from manifuse.words.wording import verdict_of


def said_of(result):
    """What speaks for a result and against it, as the page says it."""
    found = findings_of(result.evidence, result.refined)
    return [f"{'+' if each.speaks_for else '-'} {each.sentence}".replace("`", "") for each in found]


def explored(case, *, labels=True, method=None):
    return Exploration(
        title="toy",
        main=case.main,
        references=tuple(case.references),
        labels=case.labels() if labels else None,
        method=method or mf.JointDiffusion(diffusion=mf.Algorithm1(neighbours=6)),
        seed=3,
    )


def refined(exploration, **changes):
    method = replace(exploration.method, **changes)
    return mf.refine(exploration.main, exploration.references, exploration.labels, method, rng=exploration.seed)


def tiles(seen):
    return {tile["what"]: (tile["from"], tile["number"]) for tile in seen["tiles"]}


def test_what_is_asked_for_is_the_method_with_its_answers():
    exploration = explored(draw(0), method=mf.JointDiffusion(ignored=("reference 2", "reference 1")))
    method = exploration.method
    assert exploration.asked(ignored=["reference 1", "reference 2"], same_target=None) == method
    assert exploration.asked(ignored=["reference 2"], same_target=False) == replace(
        method, ignored=("reference 2",), same_target=False
    )
    assert exploration.asked(ignored=[], same_target=True) == replace(method, ignored=(), same_target=True)


def test_the_problem_is_described():
    case = draw(0)
    constant = remade(case.references[1], predictions=np.full(160, 3.0))
    method = mf.JointDiffusion(ignored=("reference 1",), same_target=True)
    exploration = replace(explored(case, method=method), references=(case.references[0], constant))
    with pytest.warns(mf.ManifuseWarning, match="weight 0"):
        facts = describe(exploration)
    assert facts["ids"] == case.main.keys.tolist()
    assert facts["labelled"] == 60
    assert facts["references"] == [{"name": "reference 1", "idle": False}, {"name": "reference 2", "idle": True}]
    assert (facts["ignored"], facts["same_target"]) == (["reference 1"], True)
    assert describe(explored(case, labels=False))["labelled"] == 0


def test_what_is_shown_is_what_refine_found():
    exploration = explored(draw(1))
    result = refined(exploration)
    seen = show(exploration, run(exploration, exploration.method))
    assert seen["accepted"]
    assert seen["sentence"] == f"{verdict_of(result.evidence)} {result.why}".replace("`", "")
    assert seen["findings"] == said_of(result)
    assert ["name", *seen["references"]["head"]] == list(result.relevance.grid.head)
    assert [tuple(line) for line in seen["references"]["body"]] == [line[1:] for line in result.relevance.grid.body]
    order = [1, 0, 2, 3]
    np.testing.assert_array_equal(seen["metric"], result.evidence.metric[np.ix_(order, order)])
    frame = result.to_frame()
    ranks = frame["score"].rank("average", descending=True).to_numpy()
    assert seen["after"] == np.round(ranks).tolist()
    assert seen["top"] == np.argsort(-result.scores, kind="stable")[:8].tolist()
    rises = np.abs(frame["original"].rank().to_numpy() - frame["score"].rank().to_numpy())
    assert rises[seen["moved"]].tolist() == sorted(rises, reverse=True)[:8]
    shown = tiles(seen)
    gain = "gain and its standard error, in points of ranking accuracy"
    assert shown[gain] == (None, result.gain.text(signed=True))
    judged = "ranking accuracy on 60 labelled rows, each judged without its own label"
    assert shown[judged] == (f"{result.accuracy.before:.1%}", f"{result.accuracy.after:.1%}")
    aligned = np.corrcoef(exploration.main.scores, result.scores)[0, 1]
    assert shown["alignment with the scores as they came"] == (None, f"{aligned:.3f}")


def test_a_reference_that_is_switched_off_is_named():
    exploration = explored(draw(1))
    result = refined(exploration, ignored=("reference 2",))
    seen = show(exploration, result)
    assert seen["sentence"] == f"Without reference 2: {verdict_of(result.evidence)} {result.why}".replace("`", "")
    assert seen["parts"][1] == "switched off"


@pytest.mark.parametrize("changes", [{"same_target": False}, {"ignored": ("reference 1", "reference 2")}])
def test_an_unchanged_result_is_shown_as_unchanged(changes):
    exploration = explored(draw(0), labels=False)
    result = refined(exploration, **changes)
    assert not result.accepted
    seen = show(exploration, result)
    assert "The scores of “main” stay as they were." in seen["sentence"]
    assert tiles(seen) == {"alignment with the scores as they came": (None, "1.000")}
    assert seen["metric"][0][0] == seen["metric"][0][1] == 1
    assert seen["metric"][0][2:] == seen["metric"][1][2:]
    assert seen["before"] == seen["after"]
    assert seen["moved"] == []
    assert explain_row(exploration, result, 5)[-1] == "The refinement was not taken, so no row moved."


def test_a_gain_of_few_labels_is_not_shown():
    exploration = explored(draw(1))
    few = mf.RankLabels(exploration.labels.keys[:8], exploration.labels.grades[:8])
    exploration = replace(exploration, labels=few)
    result = refined(exploration)
    assert result.gain.is_of_few
    assert not any("gain" in what for what in tiles(show(exploration, result)))
    assert "<td>too few labels to tell</td>" in page_of(result)


@pytest.mark.filterwarnings("ignore:Neither the scores of main nor the refined ones:manifuse.ManifuseWarning")
def test_a_gain_that_was_not_taken_is_called_so():
    exploration = explored(draw(1))
    # Labels that are wrong teach nothing that is true of others; some draws of them seem to gain by chance.
    for seed in range(5):
        wrong = mf.RankLabels(exploration.labels.keys, np.random.default_rng(seed).standard_normal(60))
        exploration = replace(exploration, labels=wrong)
        result = refined(exploration, same_target=False, ignored=("reference 1", "reference 2"))
        if not result.accepted:
            break
    assert not result.accepted
    seen = tiles(show(exploration, result))
    what = "gain of the refinement that was not taken, in points of ranking accuracy"
    assert seen[what] == (None, result.gain.text(signed=True))
    (before, after) = seen["ranking accuracy on 60 labelled rows, each judged without its own label"]
    assert before == after


def test_a_row_is_explained_as_explain_does():
    exploration = explored(draw(1))
    result = refined(exploration)
    key = exploration.main.keys[7]
    assert explain_row(exploration, result, 7) == list(mf.explain(result, key, exploration.references).sentences)
