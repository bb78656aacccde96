"""The references' scores at every main row, against what they are and against learning without a pair."""

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.diffusion.lookup import Lookup
from manifuse.diffusion.problem import Problem
from manifuse.evidence.imputed import Imputed
from manifuse.evidence.lesson import learn
from manifuse.evidence.likeness import Likeness, Rows
from manifuse.evidence.standard import Standard
from manifuse.kernels.sphere import standardise


def imputed(problem, numbers=None):
    main = problem.main
    own = standardise(main.scores)
    rows = Rows(own[:, None], np.empty((len(main), 0)), main.table)
    likeness = Likeness.of(rows, np.arange(min(len(rows), 300)), "main")
    numbers = range(len(problem.references)) if numbers is None else numbers
    return Imputed.of(problem, numbers, rows, own, likeness), rows, own, likeness


@pytest.fixture
def mixed():
    """A decoupled problem with one coupled reference in the middle."""
    case = draw(0)
    keys = np.append(case.main.keys, ["one more", "another"])
    coupled = mf.Observations(np.append(case.truth, [9.0, 7.0])[::-1], ids=keys[::-1], name="coupled")
    return Problem.of(case.main, [case.references[0], coupled, case.references[1]]), case


def test_a_coupled_reference_is_known_as_it_is(mixed):
    problem, case = mixed
    found = imputed(problem)[0]
    np.testing.assert_allclose(found.values[:, 1], standardise(case.truth), atol=1e-12)
    np.testing.assert_array_equal(found.held_out[:, 1], found.values[:, 1])


def test_columns_are_standardised_and_held_out_at_pairs_only(mixed):
    problem, _ = mixed
    found = imputed(problem)[0]
    np.testing.assert_allclose(found.values.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.values.std(axis=0), 1.0)
    for column in (0, 2):
        changed = np.flatnonzero(found.held_out[:, column] != found.values[:, column])
        assert set(changed) == set(problem.references[column].main_rows.tolist())


def test_a_pair_held_out_is_what_is_learned_without_it(mixed):
    problem, _ = mixed
    found, rows, own, likeness = imputed(problem)
    reference, lesson = problem.references[0], found.imputation.lessons[0].lesson
    assert found.imputation.lessons[0].columns == (0,)
    targets = Standard.of(reference.paired).apply(reference.paired)[:, None]
    for pair in range(0, len(reference.main_rows), 5):
        kept = np.delete(np.arange(len(reference.main_rows)), pair)
        others, here = reference.main_rows[kept], reference.main_rows[[pair]]
        near = [np.array([position]) for position in range(len(others))]
        again = learn(likeness, rows.take(others), own[others], targets[kept], near, variances=lesson.variances)
        expected = found.imputation.levels[0].apply(again.lesson.predict(rows.take(here), own[here])[:, 0])
        np.testing.assert_allclose(found.held_out[here, 0], expected, atol=1e-7)


def test_imputed_scores_are_near_the_truth_that_a_reference_sees():
    case = draw(0, rows=300, pairs=100, references=1)
    found = imputed(Problem.of(case.main, case.references))[0]
    assert np.corrcoef(found.values[:, 0], case.truth)[0, 1] > 0.9
    assert np.corrcoef(case.main.scores, case.truth)[0, 1] < 0.75


def test_references_with_the_same_pairs_share_a_lesson_and_come_out_as_in_any_order():
    case = draw(0, references=1)
    twin = mf.Observations(
        case.references[0].scores ** 3, case.references[0].table, ids=case.references[0].keys, name="twin"
    )
    problem, turned = (Problem.of(case.main, given) for given in ([*case.references, twin], [twin, *case.references]))
    found, other = imputed(problem)[0], imputed(turned)[0]
    assert [pairs.columns for pairs in found.imputation.lessons] == [(0, 1)]
    np.testing.assert_allclose(found.values, other.values[:, ::-1], atol=1e-6)


def test_later_rows_that_are_fitted_rows_have_their_values(mixed):
    problem, _ = mixed
    found, rows, own, _ = imputed(problem)
    coupled = problem.references[1]
    lookup = Lookup(coupled.table.keys, coupled.scores, coupled.reference_rows)
    again = found.imputation.at(rows, own, {1: lookup.at(problem.main.keys)})
    np.testing.assert_allclose(again, found.values, atol=1e-9)


def test_some_of_the_references_are_left(mixed):
    problem, _ = mixed
    whole, part = imputed(problem)[0], imputed(problem, [2, 1])[0]
    np.testing.assert_allclose(part.values, whole.values[:, [2, 1]], atol=1e-9)
    assert part.imputation.numbers == (2, 1)
    assert imputed(problem, [])[0].values.shape == (len(problem.main), 0)
    np.testing.assert_array_equal(whole.only([0, 2]).held_out, whole.held_out[:, [0, 2]])
