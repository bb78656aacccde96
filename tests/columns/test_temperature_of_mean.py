"""How sure refined probabilities of classes are without labels."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.tables.classes import Classes

NAMES = ("a", "b", "c")
ROWS = 200


def predictors(rng, classes=NAMES, references=3):
    """Decision values (n, k) of several classifiers of the same rows."""
    truth = 2.0 * rng.standard_normal((ROWS, len(classes)))
    return [truth + rng.standard_normal(truth.shape) for _ in range(1 + references)]


def table(came, name, classes=NAMES):
    return mf.Observations(came, ids=range(ROWS), classes=classes, scale="logits", name=name)


def refined(values, names=NAMES):
    main, *others = (table(each, f"table {number}", names) for number, each in enumerate(values))
    return mf.refine(main, others, rng=0)


def log_ratios(values):
    return Classes(NAMES).log_ratios(values)


@pytest.mark.parametrize("times", [(1, 1, 1, 1), (5, 1, 1, 1), (1, 0.2, 3, 1)])
def test_refined_log_ratios_are_between_own_ones_and_the_mean_of_all_as_they_came(times, rng):
    values = [factor * each for factor, each in zip(times, predictors(rng), strict=True)]
    result = refined(values)
    assert result.accepted
    counts = np.append(1.0, result.evidence.agreement.pulls)
    mean = np.average([log_ratios(each) for each in values], axis=0, weights=counts)
    # What was refined has the mean and the deviation of own log-ratios.
    own, columns = log_ratios(values[0]), result.fitted_model.columns
    level = columns.own
    length = np.sqrt(len(own) * (np.sum(level.mean**2) + own.shape[1] * level.deviation**2))
    assert np.linalg.norm(own) == pytest.approx(length)
    assert np.linalg.norm(result.scores) == pytest.approx(np.sqrt(length * np.linalg.norm(mean)))


def test_how_sure_predictors_are_changes_no_class(rng):
    values = predictors(rng)
    plain = refined(values)
    sharper = refined([4.0 * values[0], *values[1:]])
    np.testing.assert_array_equal(sharper.predicted, plain.predicted)
    length = np.linalg.norm(plain.scores)
    assert length < np.linalg.norm(sharper.scores) < 4.0 * length


def test_later_rows_are_as_sure_as_fitted_ones(rng):
    """Without features, refined log-ratios are a linear function of all log-ratios, which later rows follow, too."""
    values = predictors(rng)
    fitted, later = range(180), range(180, ROWS)
    main, new = (
        mf.Observations(values[0][rows], ids=rows, classes=NAMES, scale="logits", name="ours")
        for rows in (fitted, later)
    )
    result = mf.refine(main, [table(each, f"table {number}") for number, each in enumerate(values[1:])], rng=0)
    design = np.column_stack([np.ones(ROWS), *map(log_ratios, values)])
    slopes, left, *_ = np.linalg.lstsq(design[fitted], result.scores, rcond=None)
    np.testing.assert_allclose(left, 0.0, atol=1e-9)
    found = log_ratios(np.log(np.asarray(result.apply(new))))
    np.testing.assert_allclose(found, design[later] @ slopes, atol=1e-6)


@pytest.mark.parametrize("case", ["two classes", "scores"])
def test_other_predictors_stay_as_sure_as_the_main_one(case, rng):
    names = NAMES if case == "scores" else ("a", "b")
    values = predictors(rng, names)
    main = table(values[0], "ours", names)
    others = [table(each, f"table {number}", names) for number, each in enumerate(values[1:])]
    if case == "scores":
        others = [mf.Observations(each[:, 0], ids=range(ROWS), name=f"table {k}") for k, each in enumerate(values[1:])]
    result = mf.refine(main, others, rng=0)
    assert result.accepted
    deviations = [np.sqrt(np.mean((each - each.mean(axis=0)) ** 2)) for each in (main.scores, result.scores)]
    assert deviations[1] == pytest.approx(deviations[0])
