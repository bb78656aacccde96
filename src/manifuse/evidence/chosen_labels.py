"""Chosen labels: whether labels were chosen by their class, so that they do not say how frequent classes are."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import entropy
from scipy.stats import f as f_distribution

from manifuse.evidence.class_score import LogLoss
from manifuse.kernels.arrays import FloatArray

#: Labels were chosen by class if chance makes own probabilities miss the frequencies of classes among them so far in a
#: smaller share of draws than this; the second number holds where every class has as many labels.
MISSED, MISSED_IF_EQUAL = 0.001, 0.05

#: Own probabilities must also differ at the labelled rows by more standard errors than this; the second number holds
#: if two classes are more even there.
DIFFERENT, DIFFERENT_IF_EVEN = 2.0, 1.0

#: Own risks count as this much nearer to one half.
NOT_SURE = 0.02


def chosen_by_class(score: LogLoss, log_ratios: FloatArray) -> LogLoss:
    """Return a score that knows how much more frequent classes are among labels, if these were chosen by their class.

    Who labels as many rows of a rare class as of a frequent one tells nothing of how frequent they are. We take labels
    to be chosen by class if own probabilities surely miss their classes (Hotelling's test), and differ at the labelled
    rows from those of all rows in the same direction. Own probabilities that are wrong on average do not differ there,
    and those of rows that were chosen by their features do not miss. People often label more rows of a rare event, and
    hardly ever fewer. So where two classes are more even among the labels than own probabilities say, a small
    difference is enough. If every class has as many labels, none is needed, and it is enough that own probabilities
    probably miss. Then classes are taken to be as frequent as own probabilities say of the other rows (Saerens et al.,
    Neural Computation, 2002).

    Parameters
    ----------
    score : LogLoss
    log_ratios : (n, k - 1) array
        Own ones of all rows.
    """
    classes, count = score.classes, len(score.rows)
    width, said = len(classes) - 1, np.exp(classes.logarithms(log_ratios))
    if count < 2 * len(classes) or count == len(said):
        return score
    named, there = np.eye(len(classes))[score.truth], said[score.rows]
    missed = classes.coordinates(named - there)
    middle = missed.mean(axis=0)
    variance = np.atleast_2d(np.cov(missed.T))
    if width == 1:
        # Own risks may miss a few cases by more than they expect, though these vary much themselves.
        risks = (1.0 - NOT_SURE) * there[:, 0] + NOT_SURE / 2.0
        variance = np.minimum(variance, np.mean(risks * (1.0 - risks)) * np.ptp(classes.contrasts) ** 2)
    distance = float(middle @ np.linalg.pinv(variance) @ middle) * count
    ratio = distance * (count - width) / (count - 1) / width
    along = classes.coordinates(said) @ middle
    differs = (along[score.rows].mean() - along.mean()) * np.sqrt(count)
    counts = np.bincount(score.truth, minlength=len(classes))
    said[score.rows] = named
    usual = np.maximum(said.mean(axis=0), np.finfo(np.float64).tiny)
    different = DIFFERENT_IF_EVEN if width == 1 and entropy(counts) > entropy(usual) else DIFFERENT
    least = MISSED_IF_EQUAL if np.ptp(counts) <= 1 else MISSED if differs > different * along.std() else 0.0
    if f_distribution.sf(ratio, width, count - width) >= least:
        return score
    shares = (counts + usual) / (count + 1.0)
    return replace(score, excess=classes.log_ratios(np.log(shares / usual)[None])[0])


def offset_that_keeps(own: FloatArray, log_odds: FloatArray) -> float:
    """What is added to log-odds (n,), so that their risks are as large in the mean as those of ``own`` ones (n,)."""
    mean, most = expit(own).mean(), float(np.abs(log_odds).max() + np.abs(own).max())
    return float(brentq(lambda offset: expit(offset + log_odds).mean() - mean, -most, most))
