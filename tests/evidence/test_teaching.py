"""What labels and the references' consensus say of rows before the diffusion."""

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw

from manifuse.diffusion.problem import Problem
from manifuse.evidence import teaching as teaching_module
from manifuse.evidence.agreement import ask
from manifuse.evidence.consultation import known_scores
from manifuse.evidence.imputed import Imputed
from manifuse.evidence.likeness import Likeness, Rows
from manifuse.evidence.score import GradedRanking, PairedRanking, SquaredError
from manifuse.evidence.teaching import EQUAL_LABELS, Labels, Taught
from manifuse.kernels.sphere import standardise


class Lessons:
    """A problem that is ready to teach."""

    def __init__(self, case, *, trust=1.0, references=None):
        given = case.references if references is None else references
        problem = Problem.of(case.main, given, needed=False)
        own = standardise(case.main.scores)
        plain = Rows(own[:, None], np.empty((len(own), 0)), case.main.table)
        likeness = Likeness.of(plain, np.arange(min(len(plain), 300)), "main")
        numbers = range(len(given))
        self.own, self.imputed = own, Imputed.of(problem, numbers, plain, own, likeness)
        self.rows = plain.with_references(self.imputed.values)
        self.likeness = likeness.with_references(self.rows, np.arange(min(len(plain), 300)))
        asked = ask(own, known_scores(problem, numbers), self.imputed.held_out, same_target=False)
        self.agreement = replace(asked, trust=trust)

    def teach(self, score=None, variances=None):
        labels = None if score is None else self.labels(score)
        return Taught.of(
            self.rows, self.likeness, self.imputed, self.agreement.weights, self.agreement.trust, labels, variances
        )

    def labels(self, score):
        return Labels.of(score, self.rows, self.likeness, np.arange(len(self.rows)).astype(str), 0)


@pytest.fixture(scope="module")
def case():
    return draw(0)


def graded(case, rows=None):
    rows = case.labelled if rows is None else rows
    return GradedRanking(rows, case.truth[rows])


def test_without_trust_and_labels_nothing_is_learned(case):
    for lessons in (Lessons(case, trust=0.0), Lessons(case, trust=0.0, references=[])):
        found = lessons.teach()
        np.testing.assert_allclose(found.learned, lessons.own, atol=1e-12)
        np.testing.assert_allclose(found.held_out, lessons.own, atol=1e-12)
        assert found.variances is None


@pytest.mark.parametrize("trust", [0.5, 1.0])
def test_without_labels_own_scores_and_the_consensus_are_averaged_by_trust(case, trust):
    lessons = Lessons(case, trust=trust)
    found, weights = lessons.teach(), lessons.agreement.weights
    consensus = standardise(lessons.imputed.values @ weights)
    expected = standardise((1 - trust / 2) * lessons.own + trust / 2 * consensus)
    np.testing.assert_allclose(found.learned, expected, atol=1e-10)
    pairs = lessons.imputed.held_out != lessons.imputed.values
    changed = np.flatnonzero(found.held_out != found.learned)
    assert set(changed) == set(np.flatnonzero(pairs.any(axis=1)))


def test_labels_change_what_is_learned_and_held_out_rows_do_not_see_their_own(case):
    lessons = Lessons(case)
    before, found = lessons.teach(), lessons.teach(graded(case))
    unlabelled = np.setdiff1d(np.arange(160), case.labelled)
    assert np.corrcoef(found.learned, case.truth)[0, 1] > np.corrcoef(before.learned, case.truth)[0, 1]
    # Rows without a label differ by nothing but the common mean and deviation, which are those of all rows.
    np.testing.assert_allclose(found.held_out[unlabelled], found.learned[unlabelled], atol=1e-12)
    assert (found.held_out[case.labelled] != found.learned[case.labelled]).all()


def test_what_a_row_is_held_out_for_hardly_depends_on_its_own_label(case):
    """Its own target moves what is learned of it, and what is held out only through what all labels share."""
    lessons, rows = Lessons(case), case.labelled
    variances = lessons.teach(graded(case)).teaching.lesson.variances
    moved = case.truth[rows].copy()
    moved[7] += 0.3
    first, second = (lessons.teach(SquaredError(rows, targets), variances) for targets in (case.truth[rows], moved))
    row = rows[7]
    held, learned = (getattr(second, name)[row] - getattr(first, name)[row] for name in ("held_out", "learned"))
    assert learned > 0.05
    assert abs(held) < 0.3 * learned


def test_held_out_labels_confirm_a_lesson_or_do_not(case):
    """The share of a lesson is larger if labels follow a function of the features, and smaller if they are noise."""
    lessons = Lessons(case, trust=0.0, references=[])
    rows = np.arange(0, 160, 2)
    usual = len(rows) / (len(rows) + EQUAL_LABELS)
    true = lessons.teach(graded(case, rows)).teaching.amount
    noise = np.random.default_rng(0).standard_normal(len(rows))
    # The main predictor says as much as can be known of these labels.
    known = GradedRanking(rows, lessons.own[rows] + 0.3 * noise)
    assert true > usual
    assert lessons.teach(known).teaching.amount < usual


def test_ordered_pairs_teach(case):
    lessons, rng = Lessons(case), np.random.default_rng(0)
    ends = np.array([rng.choice(60, 2, replace=False) for _ in range(150)])
    truth = case.truth[case.labelled]
    ends = np.array([pair if truth[pair[0]] > truth[pair[1]] else pair[::-1] for pair in ends])
    before, found = lessons.teach(), lessons.teach(PairedRanking(case.labelled, ends[:, 0], ends[:, 1]))
    unlabelled = np.setdiff1d(np.arange(160), case.labelled)
    assert (
        np.corrcoef(found.learned[unlabelled], case.truth[unlabelled])[0, 1]
        > (np.corrcoef(before.learned[unlabelled], case.truth[unlabelled])[0, 1])
    )
    assert found.teaching.amount == pytest.approx(60 / (60 + EQUAL_LABELS))


@pytest.mark.parametrize("labelled", [False, True])
def test_rows_that_come_again_learn_the_same(case, labelled):
    lessons = Lessons(case)
    found = lessons.teach(graded(case) if labelled else None)
    expected = found.teaching.expect(lessons.rows)
    np.testing.assert_allclose(found.teaching.learn(lessons.rows, expected)[0], found.learned, atol=1e-9)


def test_of_very_many_labels_a_sample_teaches(case, monkeypatch):
    monkeypatch.setattr(teaching_module, "MOST_TAUGHT", 20)
    lessons = Lessons(case)
    labels = lessons.labels(graded(case))
    assert len(labels.rows) == len(labels.targets) == len(labels.near) == 20
    assert labels.contrasts is None
    assert set(labels.rows) <= set(case.labelled)
    better, worse = np.arange(0, 30), np.arange(30, 60)
    score = PairedRanking(case.labelled, better, worse)
    labels = lessons.labels(score)
    contrasts = labels.contrasts
    assert contrasts.shape == (20, len(labels.rows)) == (20, 40)
    np.testing.assert_array_equal(contrasts.sum(axis=1), 0.0)
    np.testing.assert_array_equal(np.abs(contrasts).sum(axis=0), 1.0)
    for row, column in zip(labels.rows, contrasts.T, strict=True):
        assert (column.sum() > 0) == (np.flatnonzero(case.labelled == row)[0] < 30)
    assert np.isfinite(lessons.teach(score).learned).all()


def test_values_that_do_not_fit_together_are_refused(case):
    found = Lessons(case).teach(graded(case)).teaching
    for changes in ({"trust": 2.0}, {"amount": -0.1}, {"weights": np.ones(3)}):
        with pytest.raises(ValueError, match=r"weights of the consensus|out of range"):
            replace(found, **changes).check()


def test_of_too_many_ordered_pairs_a_sample_teaches_with_its_rows(case, monkeypatch):
    monkeypatch.setattr(teaching_module, "MOST_TAUGHT", 12)
    ends = case.labelled[np.argsort(case.truth[case.labelled])]
    score = PairedRanking(np.sort(ends), *(np.searchsorted(np.sort(ends), side) for side in (ends[30:], ends[:30])))
    found = Lessons(case).labels(score)
    given = {(score.rows[b], score.rows[w]) for b, w in zip(score.better, score.worse, strict=True)}
    assert found.contrasts.shape == (12, len(found.rows)) == (12, 24)
    taken = {(found.rows[line.argmax()], found.rows[line.argmin()]) for line in found.contrasts}
    assert len(taken) == 12
    assert taken < given
    assert (np.sort(found.contrasts, axis=1)[:, [0, -1]] == [-1.0, 1.0]).all()
    assert (found.contrasts != 0).sum() == 24
