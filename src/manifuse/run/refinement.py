"""Refinement: the result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import Any

from manifuse.columns.refined import Refined
from manifuse.diffusion.joint import Step
from manifuse.errors import InputError, demand
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.found import Evidence
from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.holding_out import Held
from manifuse.evidence.intervals import ordered_rightly
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import RelevanceTable
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved, read_fields, write
from manifuse.run.conclusion import Conclusion, Course
from manifuse.run.frames import apply_to_frame
from manifuse.run.method import JointDiffusion
from manifuse.run.refiner import Refiner
from manifuse.tables.containers import frame_of, rows_of
from manifuse.tables.observations import Observations
from manifuse.words.findings import findings_of
from manifuse.words.reasons import REASONS
from manifuse.words.wording import summary_of, verdict_of

#: Fields that are not written to a file, because the refiner has them as well.
NOT_SAVED = ("refined", "main")


@dataclass(frozen=True, eq=False)
class Refinement(Saved):
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
    refined : Refined
        Scores, support and errors as NumPy arrays; of probabilities, log-odds and their errors.
    refiner : Refiner
        What later rows need, and the fitted rows.

    Examples
    --------
    >>> import numpy as np, manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> ours = mf.Observations(np.arange(20.0) + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(np.arange(20.0) + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], method=mf.JointDiffusion(same_target=True), rng=0)
    >>> result.accepted, result.reason.name
    (True, 'TOLD')
    """

    evidence: Evidence
    course: Course
    method: JointDiffusion
    seed: int
    main: Observations
    refined: Refined
    refiner: Refiner

    @classmethod
    def of(cls, method: JointDiffusion, seed: int, found: Conclusion, main: Observations) -> Refinement:
        """Put together what a run found for the rows of ``main``, of which some or all were fitted."""
        refined, refiner = Refined.unchanged(main), found.refiner
        if found.evidence.verdict.accepted:
            refined = refiner.fitted if main is refiner.main else refiner.refine(main)
        return cls(found.evidence, found.course, method, seed, main, refined, refiner)

    @property
    def predictions(self) -> Any:
        """Refined predictions (n,) in the library, order and units of the main predictions."""
        return self.main.like_predictions(self.refined.scores)

    @property
    def scores(self) -> FloatArray:
        """The predictions as a NumPy array (n,); of probabilities, log-odds."""
        return self.refined.scores

    @property
    def support(self) -> Any:
        """How much is known of the references' scores of each row (n,), in [0, 1].

        It is 1 where they know the row itself, 0 if nothing says what they would say, or if the main predictor came
        back unchanged.
        """
        return self.main.like_container(self.refined.support, "support")

    @property
    def errors(self) -> Any:
        """Standard errors of the predictions (n,), in their units; None if no label taught.

        90 of 100 truths lie within 1.645 of them.
        """
        errors = self.refined.in_scale_of(self.main).errors
        return None if errors is None else self.main.like_container(errors, "error")

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
    def metric(self) -> FloatArray:
        """Alignments of all predictors with each other, shape (m + 2, m + 2); see `Evidence`."""
        return self.evidence.metric

    @property
    def agreement(self) -> Agreement:
        """What the references answered."""
        return self.evidence.agreement

    @property
    def accuracy(self) -> Accuracy | None:
        """With labels: ``before`` and ``after``, on the labelled rows."""
        return None if self.evidence.measured is None else self.evidence.measured.accuracy

    @property
    def gain(self) -> Gain | None:
        """With labels: the gain on them, accepted or not. Each labelled row is judged without its own label."""
        return self.evidence.gain

    @property
    def held(self) -> Held | None:
        """How labels were held out; None without labels."""
        return None if self.evidence.measured is None else self.evidence.measured.held

    @property
    def worth(self) -> Gain | None:
        """What is lost without any reference; as `Relevance.worth`."""
        return self.evidence.worth

    @property
    def history(self) -> tuple[Step, ...]:
        """Every step of the f-diffusion; one entry, step 0, if nothing was diffused."""
        return self.course.history

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds: all but the rows that were not fitted."""
        return {field.name: write(getattr(self, field.name)) for field in fields(self) if field.name not in NOT_SAVED}

    @classmethod
    def from_record(cls, record: Any) -> Refinement:
        """Read a saved refinement, whose predictions are a NumPy array; see `Saved.from_record`."""
        values = read_fields(cls, record, omit=NOT_SAVED)
        refiner, accepted = values["refiner"], values["evidence"].verdict.accepted
        refined = refiner.fitted if accepted else Refined.unchanged(refiner.main)
        made = cls(**values, main=refiner.main, refined=refined)
        made.check()
        return made

    def check(self) -> None:
        """Refuse values that do not fit together."""
        if len(self.course.standardised) != 1 + len(self.relevance):
            raise ValueError("the references are not those of the fit")
        if self.accuracy is not None and (self.accuracy.measure == "rmse") is not self.method.is_regression:
            raise ValueError("the accuracy has another measure than the task")

    def apply(self, new: Any, *, id: str = "id", score: str = "score") -> Any:  # noqa: A002
        """Refine rows that came later, without fitting again. The first call repeats the rounds, on this machine.

        Parameters
        ----------
        new : Observations or data frame
            New main rows, with the features of the main table, found by their names; if one of the two tables has no
            names, by position. Further features are ignored, with a warning. Rows of the fit keep their prediction.
        id, score : str
            Columns of a data frame.

        Returns
        -------
        array, series or tensor (q,), or data frame
            In the library of ``new.predictions``. For a data frame, one of the same library with the columns of
            `to_frame`; for one of Dask it is lazy.

        Raises
        ------
        InputError
            If features are missing, or there is not enough memory.
        """
        if isinstance(new, Observations):
            return new.like_container(self.apply_in_full(new).scores)
        errors = self.refined.errors is not None
        return apply_to_frame(self.apply_in_full, new, self.refiner.main, (id, score), errors=errors)

    def apply_in_full(self, new: Observations) -> Refined:
        """Refine rows that came later, as `apply` does, with support and errors, in the scale of ``new``."""
        return self.refine_later(new).in_scale_of(new)

    def refine_later(self, new: Observations) -> Refined:
        """Refine rows that came later, as `apply_in_full` does, but probabilities as log-odds."""
        demand(Observations, new)
        if new.scale != self.main.scale:
            raise InputError(f"{new.name} has scale={new.scale!r}, but {self.main.scale!r} was fitted; give the same.")
        return self.refiner.refine(new) if self.accepted else Refined.unchanged(new)

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
            If an id is not one of the main table, there are more on one side, or no label taught the refinement.
        """
        errors = self.refined.errors
        if errors is None:
            raise InputError("There are no standard errors, because no label taught this refinement; give labels.")
        one, other = (rows_of(side, self.main.keys, name=self.main.name) for side in (first, second))
        if len(one) != len(other):
            raise InputError(f"{len(one)} first and {len(other)} second ids came; give equally many.")
        return ordered_rightly(self.scores[one], self.scores[other], errors[one], errors[other])

    def to_dict(self) -> dict[str, Any]:
        """Return what was found and chosen, as JSON can hold it; infinities are the text ``"inf"``."""
        course, diffusion = self.course, self.method.diffusion
        (step_size, *_), (weight_scale, *_) = diffusion.grid
        used = {"standardised": course.standardised, "recall": course.recall, "step_size": step_size}
        used |= {"weight_scale": weight_scale, "share": course.share}
        return {
            "accepted": self.accepted,
            "reason": self.reason.name,
            "why": self.why,
            "findings": write(tuple(findings_of(self.evidence, self.refined))),
            "accuracy": write(self.accuracy),
            "gain": write(self.gain),
            "worth": write(self.worth),
            "agreement": write(self.agreement.summary()),
            "held_out": None if self.held is None else self.held.name,
            "references": write(self.relevance),
            "hyperparameters": {**write(course.setting), **write(used), "rounds": course.history[-1].round},
            "rows": len(self.main),
            "fitted": len(self.refiner.main),
            "seed": self.seed,
        }

    def summary(self) -> str:
        """Say in a few lines what was found: the verdict and why, what each reference is worth, and all together."""
        return summary_of(self.evidence, self.refined)

    def to_frame(self, library: Any = None) -> Any:
        """Return a data frame of the refined rows, with the columns of the file that ``manifuse refine`` writes.

        Parameters
        ----------
        library : module, optional
            Such as ``pandas``. By default that of the main predictions, if they came as a series, else ``polars``.

        Returns
        -------
        data frame
            With ``id``, ``score``, ``original``, ``support`` and, if labels taught, ``error``. Ids are text.
        """
        main, shown = self.main, self.refined.in_scale_of(self.main)
        columns = {"id": main.keys, "score": shown.scores, "original": main.in_scale(main.scores)}
        columns |= {"support": shown.support} | ({} if shown.errors is None else {"error": shown.errors})
        return frame_of({name: each.tolist() for name, each in columns.items()}, library or main.library_of_series)

    def __repr__(self) -> str:
        taken = "accepted" if self.accepted else "unchanged"
        return f"Refinement({len(self.main)} rows, {len(self.relevance)} references, {taken}: {self.why})"

    def _repr_html_(self) -> str:
        said = escape(f"{verdict_of(self.evidence)} {self.why}")
        return f"<p>{said}</p>{self.relevance._repr_html_()}"
