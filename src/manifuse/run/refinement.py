"""Refinement: the result."""

from __future__ import annotations

from dataclasses import dataclass, fields
from html import escape
from typing import Any

import numpy as np

from manifuse.diffusion.joint import Step
from manifuse.diffusion.method import JointDiffusion
from manifuse.errors import InputError, demand
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.holding_out import Held
from manifuse.evidence.intervals import ordered_rightly
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import RelevanceTable
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved, read_fields, write
from manifuse.report.wording import summary_of, verdict_of
from manifuse.run.choice import Choice
from manifuse.run.conclusion import Conclusion
from manifuse.run.frames import apply_to_frame
from manifuse.run.outcome import accuracy_of, history_of, metric_of, relevance_of
from manifuse.run.preparation import Prepared
from manifuse.run.refined import Refined
from manifuse.run.refiner import Refiner
from manifuse.tables.containers import frame_of, rows_of
from manifuse.tables.observations import Observations

#: Fields that are not written to a file, because the refiner has them as well.
NOT_SAVED = ("refined", "main")


@dataclass(frozen=True, eq=False)
class Refinement(Saved):
    """What `refine` found.

    Attributes
    ----------
    predictions : array, series or tensor (n,)
        Refined predictions in the library, order and units of the main predictions.
    support : array, series or tensor (n,)
        How much is known of the references' scores of each row, in [0, 1]: 1 where they know the row itself, 0 if
        nothing says what they would say, or if the main predictor came back unchanged.
    errors : array, series or tensor (n,), or None
        Standard errors of the predictions, in their units; 90 of 100 truths lie within 1.645 of them.
    scores : (n,) array
        The predictions as a NumPy array; of probabilities, log-odds.
    accepted : bool
        Whether the refinement was taken; if not, the main predictions came back unchanged.
    reason : Reason
        Why the refinement was taken, or why the main predictor came back unchanged. If labels only tune: why the
        diffusion stopped.
    relevance : RelevanceTable
        A tuple of one `Relevance` for every reference, in the order given. It knows names and prints a table.
    metric : (m + 2, m + 2) array
        Alignments of the main predictor, the refined predictions and the references with each other, at rows that
        both know (the task metric of the paper), in [-1, 1].
    history : tuple of Step
        Every step of the f-diffusion; one entry, step 0, if nothing was diffused.
    choice : Choice
        The hyperparameters used.
    accuracy : Accuracy or None
        With labels: ``before`` and ``after``, on the labelled rows.
    gain : Gain or None
        With labels: the gain on them, accepted or not. Each labelled row is judged without its own label. If labels
        only tune, they are judged by what they chose, and the gain on other rows may be smaller.
    worth : Gain or None
        What is lost without any reference; as `Relevance.worth`.
    agreement : Agreement or None
        What the references answered; None if labels only tune.
    held : Held or None
        How labels were held out; None if they only tuned, or there are none.
    method : JointDiffusion
    seed : int
        Gives the same result again on the same input.
    refined : Refined
        Scores, support and errors as NumPy arrays; of probabilities, log-odds and their errors.
    main : Observations
        All main rows. Of a saved refinement, those that were fitted.
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

    accepted: bool
    reason: Reason
    relevance: RelevanceTable
    metric: FloatArray
    history: tuple[Step, ...]
    choice: Choice
    accuracy: Accuracy | None
    gain: Gain | None
    worth: Gain | None
    agreement: Agreement | None
    held: Held | None
    method: JointDiffusion
    seed: int
    refined: Refined
    main: Observations
    refiner: Refiner

    @classmethod
    def of(cls, prepared: Prepared, found: Conclusion, main: Observations) -> Refinement:
        """Put together what a run found for the rows of ``main``, of which some or all were fitted."""
        setup, problem = prepared.setup, prepared.problem
        refiner, accepted = found.refiner, found.verdict.accepted
        refined = Refined.unchanged(main)
        if accepted:
            refined = refiner.fitted if main is problem.main else refiner.refine(main)
        return cls(
            accepted=accepted,
            reason=found.verdict.reason,
            relevance=relevance_of(prepared, found),
            metric=metric_of(prepared, found),
            history=history_of(prepared, found),
            choice=Choice.of(prepared, found),
            accuracy=accuracy_of(prepared, found),
            gain=found.gain,
            worth=found.worth,
            agreement=None if found.found is None else found.found.agreement,
            held=None if found.found is None or found.found.labels is None else found.found.labels.held,
            method=setup.method,
            seed=setup.seed,
            refined=refined,
            main=main,
            refiner=refiner,
        )

    @property
    def predictions(self) -> Any:
        """Refined predictions."""
        return self.main.like_predictions(self.refined.scores)

    @property
    def scores(self) -> FloatArray:
        """The same as a NumPy array."""
        return self.refined.scores

    @property
    def support(self) -> Any:
        """How much is known of the references' scores of each row; see `Refined`."""
        return self.main.like_container(self.refined.support, "support")

    @property
    def errors(self) -> Any:
        """Standard errors."""
        errors = self.refined.in_scale_of(self.main).errors
        return None if errors is None else self.main.like_container(errors, "error")

    @property
    def weights(self) -> FloatArray:
        """Weights of the references, shape (m,); see `Relevance`."""
        return self.relevance.weights

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds: everything but the container of the predictions."""
        return {field.name: write(getattr(self, field.name)) for field in fields(self) if field.name not in NOT_SAVED}

    @classmethod
    def from_record(cls, record: Any) -> Refinement:
        """Read a saved refinement, whose predictions are a NumPy array; see `Saved.from_record`."""
        values = read_fields(cls, record, omit=NOT_SAVED)
        refiner: Refiner = values["refiner"]
        refined = refiner.fitted if values["accepted"] else Refined.unchanged(refiner.main)
        made = cls(**values, refined=refined, main=refiner.main)
        made.check()
        return made

    def check(self) -> None:
        """Refuse values that do not fit together."""
        references, shape = len(self.relevance), (len(self.relevance) + 2,) * 2
        if self.metric.shape != shape or not np.isfinite(self.metric).all():
            raise ValueError(f"metric is not finite and of shape {shape}")
        counts = {len(self.choice.standardised) - 1, *(len(s.alignments) for s in self.history)}
        if {*counts, *(len(s.weights) for s in self.history)} != {references} or not self.history:
            raise ValueError("the references are not those of the fit")
        if self.accuracy is not None and (self.accuracy.measure == "rmse") is not self.method.is_regression:
            raise ValueError("the accuracy has another measure than the task")
        gains = (self.gain, self.worth, *(entry.worth for entry in self.relevance))
        expected = "correlation" if self.accuracy is None else self.accuracy.measure
        if any(gain.measure != expected for gain in gains if gain):
            raise ValueError(f"a gain is not of {expected}, which was measured")

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
        return {
            "accepted": self.accepted,
            "reason": str(self.reason),
            "accuracy": write(self.accuracy),
            "gain": write(self.gain),
            "worth": write(self.worth),
            "agreement": write(None if self.agreement is None else self.agreement.summary()),
            "held_out": None if self.held is None else self.held.name,
            "references": write(self.relevance),
            "hyperparameters": {**self.choice.to_dict(), "rounds": self.history[-1].round},
            "rows": len(self.main),
            "fitted": len(self.refiner.main),
            "seed": self.seed,
        }

    def summary(self) -> str:
        """Say in a few lines what was found: the verdict and why, what each reference is worth, and all together."""
        return summary_of(self)

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
        return f"Refinement({len(self.main)} rows, {len(self.relevance)} references, {taken}: {self.reason})"

    def _repr_html_(self) -> str:
        return f"<p>{escape(verdict_of(self))} {escape(str(self.reason))}</p>{self.relevance._repr_html_()}"
