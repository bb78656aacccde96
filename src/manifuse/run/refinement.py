"""Refinement: the result."""

from dataclasses import dataclass, fields
from html import escape
from typing import Any, Self

from numpy.typing import NDArray

from manifuse.columns.refined_scores import RefinedScores
from manifuse.diffusion.joint import Step
from manifuse.errors import InputError, ManifuseWarning, demand
from manifuse.evidence.found import Evidence
from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import RelevanceTable
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saveable, read_fields, write
from manifuse.run.course import Course
from manifuse.run.facts import facts_of, probability_of_order
from manifuse.run.fitted_model import FittedModel
from manifuse.run.method import JointDiffusion
from manifuse.run.provenance import Provenance
from manifuse.run.truth import columns_as_given
from manifuse.tables.arranging import demand_alike
from manifuse.tables.frame_reading import ClassColumns
from manifuse.tables.observations import Observations
from manifuse.tables.straightening import straightened_by
from manifuse.tables.user_tables import FrameColumns
from manifuse.words.finding import Finding
from manifuse.words.findings import findings_of
from manifuse.words.reasons import REASONS
from manifuse.words.wording import summary_of, verdict_of

#: Fields that are not written to a file: the fitted model has the first two, and warnings may name others' rows.
NOT_SAVED = ("refined", "main", "warnings")


@dataclass(frozen=True, eq=False)
class Refinement(Saveable):
    """What `refine` found.

    Attributes
    ----------
    evidence : Evidence
        What labels and references say of it.
    course : Course
        What was chosen on the way, and how the diffusion went.
    method : JointDiffusion
    seed : int
        Gives the same result again on the same input.
    main : Observations
        All main rows. Of a saved refinement, those that were fitted.
    refined : RefinedScores
        Scores, support and uncertainty as NumPy arrays; of probabilities, of the log-odds.
    fitted_model : FittedModel
        What later rows need, and the fitted rows.
    provenance : Provenance
    warnings : tuple of ManifuseWarning
        What was warned of on the way; empty of a saved refinement.

    Examples
    --------
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics()
    >>> result = mf.refine(clinics.main, clinics.references, same_target=True, rng=0)
    >>> result.accepted, result.reason.name
    (True, 'TOLD')
    """

    evidence: Evidence
    course: Course
    method: JointDiffusion
    seed: int
    main: Observations
    refined: RefinedScores
    fitted_model: FittedModel
    provenance: Provenance
    warnings: tuple[ManifuseWarning, ...] = ()

    @classmethod
    def of(
        cls,
        method: JointDiffusion,
        seed: int,
        main: Observations,
        evidence: Evidence,
        course: Course,
        fitted_model: FittedModel,
        provenance: Provenance,
    ) -> Self:
        """Put together what a run found for the rows of ``main``, of which some or all were fitted."""
        refined = RefinedScores.unchanged(main)
        # Rows beside a sample of the same table need no comparison with it.
        if evidence.verdict.accepted:
            refined = fitted_model.fitted if main is fitted_model.main else fitted_model.refine(main, compared=True)
        return cls(evidence, course, method, seed, main, refined, fitted_model, provenance)

    @property
    def predictions(self) -> Any:
        """Refined predictions in the library, order and units of the main predictions; of classes, probabilities."""
        return self.main.like_predictions(self.refined.scores)

    @property
    def predicted(self) -> NDArray[Any]:
        """The most probable class of each row (n,), as the labels name classes; an InputError if there are none."""
        if self.main.classes is None:
            raise InputError(f"{self.main.name} has one score a row, so no class is predicted; see `predictions`.")
        return columns_as_given(self.main, self.refined, self.provenance)["predicted"]

    @property
    def scores(self) -> FloatArray:
        """The predictions as a NumPy array; of probabilities log-odds, of classes log-ratios (n, k - 1)."""
        found = self.refined.scores
        return found if self.main.straightening is None else self.main.in_scale(found)

    @property
    def support(self) -> Any:
        """How much is known of the references' scores of each row (n,), as a share of their variance.

        It is 1 where they know the row itself, 0 where nothing is known of them, and 0 if not ``accepted``.
        """
        return self.main.like_container(self.refined.support, "support")

    @property
    def uncertainty(self) -> Any:
        """Standard errors of the predictions (n,), in their units; None if no label taught, or too few.

        Of rows like the labelled ones, 90 of 100 truths lie within 1.645 of them.
        """
        found = self.refined.in_scale_of(self.main).uncertainty
        return None if found is None else self.main.like_container(found, "uncertainty")

    @property
    def accepted(self) -> bool:
        """Whether the refinement was taken; if not, the main predictions came back unchanged."""
        return self.evidence.verdict.accepted

    @property
    def reason(self) -> Reason:
        """Why the refinement was taken, or why the main predictor came back unchanged."""
        return self.evidence.verdict.reason

    @property
    def why(self) -> str:
        """The same in a sentence."""
        return REASONS[self.reason]

    @property
    def relevance(self) -> RelevanceTable:
        """A `Relevance` for every reference, in the order given. It knows names and prints a table."""
        return self.evidence.relevance

    @property
    def weights(self) -> FloatArray:
        """Weights of the references, shape (m,); see `Relevance`."""
        return self.relevance.weights

    @property
    def accuracy(self) -> Accuracy | None:
        """With labels: ``before`` and ``after``, on the labelled rows. Of classes, how often the class is right."""
        measured = self.evidence.measured
        return None if measured is None else measured.accuracy if measured.right is None else measured.right[0]

    @property
    def log_loss(self) -> Accuracy | None:
        """The log loss ``before`` and ``after``, with labels of classes, or of 0 and 1 for probabilities."""
        measured = self.evidence.measured
        return None if measured is None else measured.log_loss

    @property
    def gain(self) -> Gain | None:
        """With labels: the gain on them, accepted or not. Each labelled row is judged without its own label."""
        return self.evidence.gain

    @property
    def worth(self) -> Gain | None:
        """What is lost without any reference; as `Relevance.worth`."""
        return self.evidence.worth

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step of the f-diffusion; one entry, step 0, if nothing was diffused."""
        return self.course.history

    @property
    def is_sample(self) -> bool:
        """Whether it has only rows of a sample that was fitted, as a saved refinement of a large table does."""
        return self.course.is_of_sample and len(self.main) == len(self.fitted_model.main)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What speaks for the refinement, then what speaks against it."""
        return findings_of(self.evidence, self.refined, is_sample=self.is_sample)

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds: all but the rows that were not fitted."""
        return {each.name: write(getattr(self, each.name)) for each in fields(self) if each.name not in NOT_SAVED}

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Read a saved refinement, whose predictions are a NumPy array; see `Saveable.from_record`."""
        values = read_fields(cls, record, omit=NOT_SAVED)
        return cls.of(**values, main=values["fitted_model"].main)

    def apply(
        self,
        new: Any,
        *,
        id: str | None = None,  # noqa: A002
        score: str | None = None,
        classes: ClassColumns = None,
    ) -> Any:
        """Refine rows that came later, without fitting again. The first call repeats the rounds, on this machine.

        Parameters
        ----------
        new : Observations or data frame
            New main rows, with the features of the main table, found by their names; if one of the two tables has no
            names, by position. Further features are ignored, with a warning. Rows of the fit keep their
            prediction, unless they come with another score or other features.
        id, score, classes
            Columns of a data frame, as of `Observations.from_frame`; by default as those of the main table.

        Returns
        -------
        array, series or tensor, or data frame
            In the library that the scores, or probabilities, of ``new`` came in. For a data frame, one of the same
            library with the columns of `to_frame`.

        Raises
        ------
        InputError
            If features are missing, or there is not enough memory.
        """
        later = self._observe_later(new, id=id, score=score, classes=classes)
        refined = self.refine_later(later)
        if isinstance(new, Observations):
            return later.like_predictions(refined.scores)
        return later.frame_of(columns_as_given(later, refined, self.provenance))

    def apply_in_full(self, new: Any, **columns: Any) -> RefinedScores:
        """Refine later rows as `apply` does, into arrays in the scale of ``new``, with support and uncertainty."""
        later = self._observe_later(new, **columns)
        return self.refine_later(later).in_scale_of(later)

    def _observe_later(self, new: Any, **names: Any) -> Observations:
        fitted = self.fitted_model.main
        later = FrameColumns.like(fitted, **names).observe(new, name="the frame", fitted=fitted)
        return straightened_by(later, fitted.straightening)

    def refine_later(self, new: Observations, *, compared: bool = False) -> RefinedScores:
        """Refine rows that came later, but not yet in the scale of what came; see `FittedModel.refine`."""
        demand(Observations, new)
        demand_alike(new, self.main)
        return self.fitted_model.refine(new, compared=compared) if self.accepted else self.fitted_model.leave(new)

    def probability(self, first: Any, second: Any) -> FloatArray:
        """Probability that rows are rightly ordered by their refined scores, the first above the second.

        Parameters
        ----------
        first, second : (p,) sequence
            Ids of main rows.

        Returns
        -------
        (p,) array
            In [0, 1], by Student's t. Errors of two rows are taken as independent.

        Raises
        ------
        InputError
            If an id is not one of the main table, there are more on one side, no label taught the refinement, or it is
            of classes.
        """
        return probability_of_order(self, first, second)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found and chosen, as JSON can hold it; infinities are the text ``"inf"``."""
        return facts_of(self)

    def summary(self) -> str:
        """Say in a few lines what was found: the verdict and why, what each reference is worth, and all together."""
        return summary_of(self.evidence, self.findings)

    def to_frame(self, library: Any = None) -> Any:
        """Return a data frame of the refined rows, with the columns of the file that ``manifuse refine`` writes.

        Parameters
        ----------
        library : module, optional
            Such as ``pandas``. By default that of the main table, if it was a data frame or a series, else ``polars``.

        Returns
        -------
        data frame
            With the ids, ``score``, ``original``, ``support`` and, if labels taught, ``uncertainty``; of classes, with
            the ids, ``predicted``, ``original``, the probabilities of every class, and ``support``. Index, ids and
            their name are those of the data frame that came; a saved refinement has ids as text.
        """
        return self.main.frame_of(columns_as_given(self.main, self.refined, self.provenance), library)

    def __repr__(self) -> str:
        size = f"{many(len(self.main), 'row')}, {many(len(self.relevance), 'reference')}"
        return f"Refinement({size}, {'accepted' if self.accepted else 'unchanged'}: {self.why})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(f'{verdict_of(self.evidence)} {self.why}')}</p>{self.relevance._repr_html_()}"
