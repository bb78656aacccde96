"""The methods that are compared: each a name, a reason where it does not apply, and a function.

A method sees a `Case`: the tables, the labels of the validation rows and, since two baselines ask for them,
rankers and their training rows. It never sees a test label.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.schemes import ImplicitEuler
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.refinement import Refinement
from manifuse.run import refine
from manifuse.study.baselines.imputation import impute
from manifuse.study.baselines.mtl import Learned, SharedSpace, mtl1, mtl2
from manifuse.study.baselines.smoothing import self_smoothing
from manifuse.study.baselines.spreading import spread_labels
from manifuse.study.baselines.stacking import mean_of_scores, stack_by_ranksvm, stack_by_ridge
from manifuse.study.baselines.tpc import tpc
from manifuse.study.experiments.protocol import Trial
from manifuse.study.ranking.ranksvm import RankSVM

#: The paper's form for tables of up to 10,000 rows: the implicit bridge, its step among the candidates of its rule.
PUBLISHED = replace(
    JointDiffusion.as_published(), bridge=(ImplicitEuler(1.0), ImplicitEuler(10.0), ImplicitEuler(30.0))
)

#: Decimal places of weights and accuracy surfaces in the rows, which hold thousands of them.
DIGITS = 5


@dataclass(frozen=True, eq=False)
class Case:
    """One task of one trial, as a method sees it."""

    trial: Trial
    task: str

    @property
    def seed(self) -> int:
        """Draws whatever a method draws."""
        return self.trial.seed

    @cached_property
    def main(self) -> Observations:
        """Table of the main predictor."""
        return self.trial.main_table(self.task)

    @cached_property
    def references(self) -> list[Observations]:
        """Tables of the others."""
        return self.trial.references(self.task)

    @cached_property
    def labels(self) -> RankLabels:
        """Labels of the validation rows."""
        return self.trial.labels(self.task)

    @cached_property
    def rows(self) -> IndexArray:
        """Validation rows as places among the main rows."""
        return self.trial.validation_places()

    @cached_property
    def grades(self) -> FloatArray:
        """Their labels, shape (v,)."""
        return self.trial.dataset.tasks[self.task].labels[self.trial.roles.validation]

    @cached_property
    def problem(self) -> Problem:
        """The tables, paired."""
        return Problem.of(self.main, self.references)

    @cached_property
    def scores(self) -> FloatArray:
        """Main and reference scores on all main rows, (n, m + 1); coupled data only."""
        return np.column_stack([self.main.scores, *(reference.scores for reference in self.references)])

    def accuracy(self, predictions: FloatArray) -> float:
        """Ranking accuracy on the validation rows of predictions (n,)."""
        score = self.problem.score(self.labels, regression=False)
        return float(score.evaluate(predictions[score.rows, None])[0])


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions (n,) for the main rows, what was chosen, and the time it took."""

    predictions: FloatArray
    hyperparameters: Mapping[str, Any]
    seconds: float
    refinement: Refinement | None = None


@dataclass(frozen=True)
class Method:
    """A method by name.

    Attributes
    ----------
    name : str
    run : callable
        From a case to predictions and hyperparameters, or to a refinement.
    applies : callable
        From a case to an empty string, or to the reason why it does not apply.
    """

    name: str
    run: Callable[[Case], tuple[FloatArray, Mapping[str, Any]] | Refinement]
    applies: Callable[[Case], str]

    def measure(self, case: Case) -> Outcome:
        """Run and take the time."""
        start = time.perf_counter()
        result = self.run(case)
        seconds = time.perf_counter() - start
        if isinstance(result, Refinement):
            return Outcome(np.asarray(result.predictions), describe(result), seconds, result)
        return Outcome(result[0], result[1], seconds)


def describe(result: Refinement) -> dict[str, Any]:
    """What a refinement chose, as plain data."""
    choice = result.choice
    bridge = choice.setting.bridge
    surface = None if choice.surface is None else np.round(choice.surface, DIGITS).tolist()
    return {
        "accepted": result.accepted,
        "rounds": result.history[-1].round,
        "step_size": choice.step_size,
        "weight_scale": choice.weight_scale,
        "neighbours": choice.setting.neighbours,
        "score_scale": choice.setting.score_scale if np.isfinite(choice.setting.score_scale) else "infinite",
        "bridge": {"scheme": type(bridge).__name__, **bridge.parameters()},
        "standardised": list(choice.standardised),
        "presmoothing": None if choice.presmoothing is None else choice.presmoothing.hyperparameters(),
        "weights": {entry.name: round(entry.weight, DIGITS) for entry in result.relevance},
        "gain": None if result.gain is None else asdict(result.gain),
        "step_sizes": list(choice.step_sizes),
        "weight_scales": list(choice.weight_scales),
        "surface": surface,
    }


def _always(case: Case) -> str:
    del case
    return ""


def _coupled_only(case: Case) -> str:
    return (
        "" if case.trial.is_coupled else "needs every reference on every main row; here they are known at pairs only"
    )


def _decoupled_only(case: Case) -> str:
    return "every reference is known on every main row already" if case.trial.is_coupled else ""


def _shared_features_only(case: Case) -> str:
    if case.trial.dataset.shares_features:
        return ""
    return "needs the parameters of all rankers over the same features; here each task has its own"


def _ind(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
    selected = case.trial.main[case.task].selected
    candidates = selected.families
    accuracies = {name: candidate.validation_accuracy for name, candidate in candidates.items()}
    chosen = candidates[selected.family].hyperparameters()
    return case.main.scores, {"ranker": selected.family, "validation": accuracies, **chosen}


def _diffusion(method: JointDiffusion, *, labelled: bool) -> Callable[[Case], Refinement]:
    def run(case: Case) -> Refinement:
        return refine(case.main, case.references, case.labels if labelled else None, method, rng=case.seed)

    return run


def _oracle(case: Case) -> Refinement:
    references = case.trial.coupled_references(case.task)
    method = JointDiffusion(safeguarded=False, presmoothed=False)
    return refine(case.main, references, case.labels, method, rng=case.seed)


def _tpc(*, closed_form: bool) -> Callable[[Case], tuple[FloatArray, Mapping[str, Any]]]:
    def run(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
        modes = ("kl",) if closed_form else ("kl", "rank")
        results, seconds = [], {}
        for mode in modes:
            start = time.perf_counter()
            combined = tpc(
                case.main.scores,
                case.scores[:, 1:],
                case.accuracy,
                mode=cast(Any, mode),
                closed_form=closed_form,
                rng=np.random.default_rng(case.seed),
            )
            seconds[mode] = time.perf_counter() - start
            results.append((mode, combined))
        mode, best = max(results, key=lambda result: result[1].validation_score)
        chosen = {"mode": mode, "step_size": best.step_size, "scale": best.scale, "steps": best.steps}
        return best.predictions, {**chosen, "seconds": seconds}

    return run


def _mtl(learn: Callable[[SharedSpace, IndexArray, FloatArray], Learned]) -> Callable[[Case], tuple[FloatArray, Any]]:
    def run(case: Case) -> tuple[FloatArray, Any]:
        learned = {kernel: learn(_space(case, kernel), case.rows, case.grades) for kernel in ("linear", "gaussian")}
        kernel = max(learned, key=lambda name: learned[name].validation_accuracy)
        return learned[kernel].predictions, {"kernel": kernel, **learned[kernel].hyperparameters}

    return run


def _space(case: Case, kernel: str) -> SharedSpace:
    """Put all rankers into one space; Gaussian references are fitted anew with the main ranker's width."""
    trial, task = case.trial, case.trial.dataset.tasks[case.task]
    table = np.asarray(standardise(task.features))
    main = cast(RankSVM, trial.main[case.task].selected.families[kernel].ranker)
    references = []
    for other in trial.others(case.task):
        ranker = cast(RankSVM, trial.reference[other].selected.families[kernel].ranker)
        if kernel == "gaussian":
            rows = trial.roles.reference_train[other]
            ranker = RankSVM("gaussian", penalty=ranker.penalty, width=main.width_)
            ranker.fit(table[rows], trial.dataset.tasks[other].labels[rows])
        references.append(ranker)
    return SharedSpace.of(main, task.labels[trial.roles.train[case.task]], references, table[trial.roles.main_rows])


def _mean(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
    return mean_of_scores(case.scores), {}


def _impute_and_average(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
    imputed, chosen = impute(case.problem, case.seed)
    return mean_of_scores(np.column_stack([case.main.scores, imputed])), chosen


def _impute_and_stack(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
    imputed, chosen = impute(case.problem, case.seed)
    scores = np.column_stack([case.main.scores, imputed])
    predictions, penalty = stack_by_ranksvm(scores, case.rows, case.grades, case.seed)
    return predictions, {**chosen, **penalty}


def _smooth(case: Case) -> tuple[FloatArray, Mapping[str, Any]]:
    score = score_of(case.labels, case.main, regression=False)
    return self_smoothing(case.main, score, np.random.default_rng(case.seed))


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("Ind", _ind, _always),
        Method("JMD", _diffusion(JointDiffusion(), labelled=True), _always),
        Method("JMD, not presmoothed", _diffusion(JointDiffusion(presmoothed=False), labelled=True), _always),
        Method("JMD, no labels", _diffusion(JointDiffusion(), labelled=False), _always),
        Method("JMD, as published", _diffusion(PUBLISHED, labelled=True), _always),
        Method("TPC, iterative", _tpc(closed_form=False), _coupled_only),
        Method("TPC, closed form", _tpc(closed_form=True), _coupled_only),
        Method("MTL1", _mtl(mtl1), _shared_features_only),
        Method("MTL2", _mtl(mtl2), _shared_features_only),
        Method("mean", _mean, _coupled_only),
        Method(
            "stacking, RankSVM",
            lambda case: stack_by_ranksvm(case.scores, case.rows, case.grades, case.seed),
            _coupled_only,
        ),
        Method("stacking, ridge", lambda case: stack_by_ridge(case.scores, case.rows, case.grades), _coupled_only),
        Method("impute and average", _impute_and_average, _decoupled_only),
        Method("impute and stack", _impute_and_stack, _decoupled_only),
        Method("self-smoothing", _smooth, _always),
        Method("label spreading", lambda case: spread_labels(case.main, case.rows, case.grades, case.seed), _always),
        Method("coupled oracle", _oracle, _decoupled_only),
    )
}
