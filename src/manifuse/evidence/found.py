"""Evidence: what labels and references say of a refinement."""

from dataclasses import dataclass
from typing import Literal

from manifuse.evidence.agreement import Agreement
from manifuse.evidence.by_class import ByClass
from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.holding_out import Held
from manifuse.evidence.relevance import RelevanceTable
from manifuse.evidence.verdict import Verdict
from manifuse.kernels.arrays import FloatArray

#: How far apart the own scores of ordered pairs are, by those of two rows as they usually are.
Apart = Literal["closer", "farther"]


@dataclass(frozen=True)
class Representative:
    """In what the labelled rows are like all rows, but for chance.

    Attributes
    ----------
    like_rest : bool
        The means of their features and own scores, the spread of own scores, and at pairs their distance from a
        reference's.
    of_all_times : bool
        Their mean place, if rows follow each other in time.
    of_known : bool
        How often references know them, so that labels show what references do at the majority of rows.
    of_far : bool
        Of a regression, how far out the farthest of them are.
    apart : {"closer", "farther"} or None
        Of ordered pairs, whether own scores are closer to each other, or farther apart, than those of two rows usually
        are; None if that could be chance.
    """

    like_rest: bool = True
    of_all_times: bool = True
    of_known: bool = True
    of_far: bool = True
    apart: Apart | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """What labels measure.

    Attributes
    ----------
    accuracy : Accuracy
        On the labelled rows, before and after.
    gain : Gain
        Of the refinement; if it was not taken, of what it would have been over what stays. Each labelled row is judged
        without its own label.
    held : Held
        How labels were held out.
    right : pair of Accuracy and Gain, or None
        Of classes, the same of how often the class is right; ``accuracy`` and ``gain`` are then of the log loss.
    backwards : bool
        Whether the main predictor ranks the labels the other way around.
    unrelated : bool
        Whether own scores say no more of the labels than chance could.
    unpredicted : bool
        Whether what was found says no more of the held-out labels than chance could, either.
    at_pairs : Gain or None
        What following the references alone gains at labelled rows that they know themselves; None if these are few.
    as_if_unknown : bool
        Whether all labelled rows are judged as if no reference knew them. They are not if a reference that knows most
        rows knows one of them.
    by_class : ByClass or None
        Of classes, what labels say of each of them. If the refinement was not taken, it is what it would have been.
    risk : pair of Accuracy and Gain, or None
        The log loss of probabilities that labels of 0 and 1 calibrated, each without the labels of its fold, and what
        it gains over own ones; None of other labels or scores, and if the refinement was not taken.
    uncalibrated : {"scale", "labels"} or None
        Why labels do not calibrate scores in [0, 1]: nobody said that these are probabilities, or the labels are not
        all 0 or 1.
    in_other_units : bool
        Of a regression, whether own scores are in other units than the labels. Then ``accuracy`` and ``gain`` compare
        with own scores that a line brought into those of the labels.
    calibrated : bool
        Whether labels calibrate own probabilities, also of rows where nothing else is taken.
    averaged : pair of Gain, or None
        What the mean of own scores and all imputed references gains, and what the refined scores gain over it; None
        without references.
    uneven : float
        Of a regression, the rank correlation of refined scores with how far targets are from them, in standard errors;
        0 unless it is clear.
    representative : Representative
        Whether the labelled rows stand for the others.
    chosen : bool
        Whether labels of classes, or of risks, were chosen by their class; see `chosen_by_class`.
    drawn_from : int or None
        How many rows have labels, if these were drawn at random among them because there are so many.
    mean_risks : triple of float, or None
        Of calibrated risks, the share of labels that are 1, and the mean of all risks before and after.
    reliability : (2, b, 3) array or None
        Of calibrated risks, how often they come true, in bins; see `reliability_of_risks`.
    """

    accuracy: Accuracy
    gain: Gain
    held: Held
    right: tuple[Accuracy, Gain] | None = None
    backwards: bool = False
    unrelated: bool = False
    unpredicted: bool = False
    at_pairs: Gain | None = None
    as_if_unknown: bool = True
    by_class: ByClass | None = None
    risk: tuple[Accuracy, Gain] | None = None
    uncalibrated: Literal["scale", "labels"] | None = None
    in_other_units: bool = False
    calibrated: bool = False
    averaged: tuple[Gain, Gain] | None = None
    uneven: float = 0.0
    representative: Representative = Representative()
    chosen: bool = False
    drawn_from: int | None = None
    mean_risks: tuple[float, float, float] | None = None
    reliability: FloatArray | None = None

    @property
    def is_of_rest(self) -> bool:
        """Whether what was measured holds for the other rows, as far as features, scores and places tell."""
        # How well scores are ranked does not depend on how frequent the values of labels are.
        chosen, labelled = self.chosen and self.right is not None, self.representative
        known = labelled.like_rest and labelled.of_all_times and labelled.of_known
        return known and labelled.apart is None and not chosen

    @property
    def log_loss(self) -> Accuracy | None:
        """The log loss before and after: of classes, or of probabilities that labels of 0 and 1 calibrated."""
        if self.right is not None:
            return self.accuracy
        return None if self.risk is None else self.risk[0]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What labels and references say of a refinement.

    Attributes
    ----------
    name : str
        Of the main table.
    verdict : Verdict
    relevance : RelevanceTable
    metric : (m + 2, m + 2) array
        Alignments of the main predictor, the refined predictions and the references with each other, at rows that
        both know (the task metric of the paper), in [-1, 1].
    agreement : Agreement
        What the references that were asked answered.
    asked : tuple of int
        Their numbers.
    measured : Measurement or None
        None without labels.
    worth : Gain or None
        What is lost without any reference; as `Relevance.worth`.
    unexplained : tuple of str
        Ids of rows that moved far on what references say of them and nothing else explains, the most striking first.
    uncovered : tuple of str
        Classes that no reference that is followed can speak of, because it or its pairs lack them.
    vanished : tuple of str
        Classes that were most probable in some row, and are in none any more; empty of a sample of a larger table.
    pairs_like_rest : bool
        Whether the rows that references know which are followed are like all rows, but for chance.
    disjoint : tuple of str
        References that share no row with another one, though by chance they would: perhaps parts of one table.
    """

    name: str
    verdict: Verdict
    relevance: RelevanceTable
    metric: FloatArray
    agreement: Agreement
    asked: tuple[int, ...]
    measured: Measurement | None
    worth: Gain | None
    unexplained: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    pairs_like_rest: bool = True
    disjoint: tuple[str, ...] = ()

    @property
    def gain(self) -> Gain | None:
        """What labels say of the refinement; None without labels."""
        return None if self.measured is None else self.measured.gain

    @property
    def by_class(self) -> ByClass | None:
        """With labels of classes: which class was taken for which, and how reliable probabilities are."""
        return None if self.measured is None else self.measured.by_class

    @property
    def names_of_asked(self) -> list[str]:
        """Names of the main predictor and of the references that were asked, in the order of their loadings."""
        return [self.name, *(self.relevance[number].name for number in self.asked)]
