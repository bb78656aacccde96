"""Refinement: the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from manifuse.choice import Choice
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.joint import Path, Step
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import locate
from manifuse.diffusion.reason import Reason
from manifuse.errors import demand
from manifuse.evidence.relevance import Relevance, final_weights, relevance_of
from manifuse.evidence.score import Gain
from manifuse.evidence.verdict import Verdict
from manifuse.kernels.arrays import FloatArray
from manifuse.preparation import Prepared
from manifuse.records import Saved, read_fields, write

#: Fields that are not written to a file: the container of the predictions, and what the fit has as well.
NOT_SAVED = ("predictions", "main", "method")


@dataclass(frozen=True, eq=False)
class Refinement(Saved):
    """What `refine` found.

    Attributes
    ----------
    predictions : array, series or tensor (n,)
        Refined predictions in the library, order and units of the main predictions.
    scores : (n,) array
        The same as a NumPy array.
    accepted : bool
        Whether the refinement was taken; if not, the main predictions came back unchanged.
    reason : Reason
        Why the diffusion stopped, or why the main predictor came back unchanged.
    relevance : tuple of Relevance
        One for every reference, in the order given.
    weights : (m,) array
        Weight of every reference at the end, in [0, 1].
    support : (n,) array
        How much pair evidence there is for each row, in [0, 1]: 0 if no bridge reaches it, 1 if there is as much as
        at a typical pair.
    metric : (m + 2, m + 2) array
        Alignments of the main predictor as it came, the predictions after the diffusion, and the references after
        transport, with each other (the task metric of the paper), in [-1, 1].
    history : tuple of Step
        Every step of the f-diffusion.
    choice : Choice
        The hyperparameters used.
    accuracy : mapping or None
        With labels: each measure's value ``before`` and ``after``, on the labelled rows.
    gain : Gain or None
        With labels: the gain on them and its standard error, accepted or not. The same labels chose the
        hyperparameters, so that the gain on other rows may be smaller.
    method : JointDiffusion
    seed : int
        Gives the same result again on the same input.
    main : Observations
    typical : (m,) array
        Row sum of every reference's bridge at a typical pair, which ``support`` is measured by.
    fit : Fit
        What later rows need.

    Examples
    --------
    >>> import numpy as np
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> ours = mf.Observations(np.arange(20.0) + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(np.arange(20.0) + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], rng=0)
    >>> result
    Refinement(20 rows, 1 references, accepted: The predictions settled: a further round hardly changed them.)
    >>> result.relevance[0].name, result.relevance[0].pairs, result.weights.shape, result.support.shape
    ('other', 20, (1,), (20,))
    >>> print(result.summary())
    accepted: The predictions settled: a further round hardly changed them.
    other: weight 0.24, alignment 0.69 on 20 pairs (chance 0.46), fidelity 1.00, 100% of the rows reached
    """

    predictions: Any
    scores: FloatArray
    accepted: bool
    reason: Reason
    relevance: tuple[Relevance, ...]
    weights: FloatArray
    support: FloatArray
    metric: FloatArray
    history: tuple[Step, ...]
    choice: Choice
    accuracy: Mapping[str, Mapping[str, float]] | None
    gain: Gain | None
    method: JointDiffusion
    seed: int
    main: Observations
    typical: FloatArray
    fit: Fit

    @classmethod
    def of(cls, prepared: Prepared, path: Path, verdict: Verdict, refined: FloatArray) -> Refinement:
        """Put together what a run found; ``refined`` (n,) are the scores after the diffusion."""
        problem, score, transport = prepared.problem, prepared.score, path.references
        main, weights = problem.main, final_weights(path)
        scores = refined if verdict.accepted else main.scores
        typical = np.array(
            [
                np.median(transport.row_sums[reference.main_rows, number])
                for number, reference in enumerate(problem.references)
            ]
        )
        accuracy = None
        if score is not None:
            before, after = (score.report(values[score.rows]) for values in (main.scores, scores))
            accuracy = {"before": before, "after": after}
        return cls(
            predictions=main.like_predictions(scores),
            scores=scores,
            accepted=verdict.accepted,
            reason=verdict.reason,
            relevance=relevance_of(problem, path, prepared.pair_evidence, prepared.setup.seed),
            weights=weights,
            support=support_of_rows(transport.row_sums * transport.reached, typical, weights),
            metric=path.metric,
            history=path.history,
            choice=Choice.of(prepared, path),
            accuracy=accuracy,
            gain=verdict.gain,
            method=prepared.setup.method,
            seed=prepared.setup.seed,
            main=main,
            typical=typical,
            fit=prepared.fit(path),
        )

    def to_record(self) -> dict[str, Any]:
        """Return what a file holds: everything but the container of the predictions."""
        return {field.name: write(getattr(self, field.name)) for field in fields(self) if field.name not in NOT_SAVED}

    @classmethod
    def from_record(cls, record: Any) -> Refinement:
        """Read a saved refinement, whose predictions are a NumPy array; see `Saved.from_record`."""
        values = read_fields(cls, record, omit=NOT_SAVED)
        fit = values["fit"]
        made = cls(**values, predictions=values["scores"], main=fit.main, method=fit.bridges.method)
        made.check()
        return made

    def check(self) -> None:
        """Refuse values that do not fit together."""
        rows, references = len(self.main), self.fit.bridges.count
        shapes = {
            "scores": (rows,),
            "support": (rows,),
            "weights": (references,),
            "typical": (references,),
            "metric": (references + 2, references + 2),
        }
        for name, shape in shapes.items():
            array = getattr(self, name)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} is not finite and of shape {shape}")
        counts = {len(self.relevance), len(self.choice.standardised) - 1, *(len(s.alignments) for s in self.history)}
        if counts != {references} or not self.history or {len(s.weights) for s in self.history} != {references}:
            raise ValueError("the references are not those of the fit")
        measures = {"rmse", "mae"} if self.method.is_regression else {"accuracy"}
        accuracy = {} if self.accuracy is None else self.accuracy
        if self.accuracy is not None and accuracy.keys() != {"before", "after"}:
            raise ValueError("the accuracy is not that before and after")
        if any(of.keys() != measures for of in accuracy.values()):
            raise ValueError("the accuracy has other measures than the task")

    def apply(self, new: Observations) -> Any:
        """Refine rows that came later, without fitting again.

        Parameters
        ----------
        new : Observations
            New main rows, with the features of the main table if bridges were needed. Rows whose id was in the fit
            get their fitted prediction.

        Returns
        -------
        array, series or tensor (q,)
            In the library of ``new.predictions``.

        Raises
        ------
        InputError
            If the features are not those of the fit, or there is not enough memory.

        Notes
        -----
        A refinement keeps what every round mixed, but not what the rounds worked on. The first call repeats the
        rounds, on this machine.
        """
        return self.apply_with_support(new)[0]

    def support_of(self, new: Observations) -> FloatArray:
        """Support of rows that came later, shape (q,), in [0, 1]; see ``support``."""
        return self.apply_with_support(new)[1]

    def apply_with_support(self, new: Observations) -> tuple[Any, FloatArray]:
        """Return what `apply` and `support_of` return, at the cost of one of them."""
        demand(Observations, new)
        rows, known = locate(new.keys, self.main.keys)
        scores: FloatArray = new.scores
        support: FloatArray = np.zeros(len(new))
        if self.accepted:
            scores, row_sums = self.fit.extend(new)
            support = support_of_rows(row_sums, self.typical, self.weights)
        refined = new.like_predictions(np.where(known, self.scores[rows], scores))
        return refined, np.where(known, self.support[rows], support)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found and chosen, as JSON can hold it; infinities are the text ``"inf"``."""
        return {
            "accepted": self.accepted,
            "reason": str(self.reason),
            "accuracy": write(self.accuracy),
            "gain": write(self.gain),
            "references": write(self.relevance),
            "hyperparameters": {**self.choice.to_dict(), "rounds": self.history[-1].round},
            "rows": len(self.main),
            "seed": self.seed,
        }

    def summary(self) -> str:
        """Say in a few lines what was found: the verdict, the accuracy on the labels, and each reference."""
        lines = [f"{'accepted' if self.accepted else 'unchanged'}: {self.reason}"]
        if self.accuracy is not None:
            before, after = self.accuracy["before"], self.accuracy["after"]
            lines += [f"{name} on the labels: {before[name]:.4f} before, {after[name]:.4f} after" for name in before]
        lines += [
            f"{entry.name}: weight {entry.weight:.2f}, alignment {entry.held_out_alignment:.2f} on {entry.pairs} "
            f"pairs (chance {entry.chance_alignment:.2f}), fidelity {entry.fidelity:.2f}, {entry.reached:.0%} of the "
            "rows reached"
            for entry in self.relevance
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        verdict = "accepted" if self.accepted else "unchanged"
        return f"Refinement({len(self.main)} rows, {len(self.relevance)} references, {verdict}: {self.reason})"


def support_of_rows(row_sums: FloatArray, typical: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over references, by weight, of row sums divided by those at a typical pair; shape (n,), in [0, 1]."""
    # If no reference took part, all count alike.
    weights = weights if weights.sum() > 0 else np.ones(len(weights))
    shares = row_sums / typical
    np.clip(shares, 0.0, 1.0, out=shares)
    return np.asarray(shares @ (weights / weights.sum()))
