"""The methods that are compared: each has a name, a function of a `Case`, and what it needs of the case."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.evidence.labelled import score_of
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.rivals.methods import mean_of_scores, stack_by_ridge
from manifuse.rivals.own_graph import self_smoothing, spread_labels
from manifuse.rivals.own_labels import own_labels
from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse_study.baselines.imputation import impute, impute_by_forest
from manifuse_study.baselines.learned import RefittableLesson
from manifuse_study.baselines.mtl import SharedSpace, mtl1, mtl2
from manifuse_study.baselines.stacking import stack_by_ranksvm
from manifuse_study.baselines.tpc import Mode, tpc
from manifuse_study.experiments.published import AS_PUBLISHED, TUNED, describe_alone, run_alone
from manifuse_study.experiments.trial import Case, Trained
from manifuse_study.ranking.ranksvm import RankSVM
from manifuse_study.ranking.selection import best_family, retrain

#: JMD as the paper has it. The implicit bridge is the paper's form for tables of up to 10,000 rows; the paper's rule
#: chooses its step.
PUBLISHED = replace(AS_PUBLISHED, bridge=(ImplicitEuler(1.0), ImplicitEuler(10.0), ImplicitEuler(30.0)))

#: Decimal places of the weights and of the accuracy surface in a row; the rows have thousands of these numbers.
DIGITS = 5

#: What a method may need of a case, as the reason why a case without it is skipped.
NOTHING = ""
COUPLED = "needs every reference on every main row; here they are known at pairs only"
DECOUPLED = "every reference is known on every main row already"
SHARED = "needs the parameters of all rankers over the same features; here each task has its own"


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions (n,) for the main rows and what was chosen; of JMD, also the refinement."""

    predictions: FloatArray
    hyperparameters: Mapping[str, Any]
    refinement: Refinement | None = None


@dataclass(frozen=True)
class Method:
    """A method that is compared.

    Attributes
    ----------
    name : str
    run : callable
        From a case to an outcome.
    needs : str
        `NOTHING`, `COUPLED`, `DECOUPLED` or `SHARED`.
    knows_more : bool
        Whether it knows more than a method may that has only the tables and the validation labels.
    """

    name: str
    run: Callable[[Case], Outcome]
    needs: str = NOTHING
    knows_more: bool = False

    def reason_to_skip(self, case: Case) -> str:
        """Return why the method does not apply to the case; empty if it does."""
        coupled = case.trial.protocol.kind == "coupled"
        has = {NOTHING: True, COUPLED: coupled, DECOUPLED: not coupled, SHARED: case.trial.dataset.shares_features}
        return "" if has[self.needs] else self.needs


def describe(result: Refinement) -> dict[str, Any]:
    """Return what a refinement chose and found, as the plain data of a row."""
    found, (step_sizes, weight_scales) = result.to_dict(), result.method.diffusion.grid
    return {
        "accepted": found["accepted"],
        "gain": found["gain"],
        **{name: value for name, value in found["hyperparameters"].items() if name != "recall"},
        "weights": {entry.name: round(entry.weight, DIGITS) for entry in result.relevance},
        "step_sizes": list(step_sizes),
        "weight_scales": list(weight_scales),
        "surface": None,
    }


def _ind(case: Case) -> Outcome:
    families = case.trial.rankers[case.task].main.families
    accuracies = {name: candidate.validation_accuracy for name, candidate in families.items()}
    best = best_family(families)
    return Outcome(case.main.scores, {"ranker": best, "validation": accuracies, **families[best].hyperparameters()})


def _refine(
    case: Case,
    references: Sequence[Observations],
    labels: RankLabels | None,
    method: JointDiffusion | None = None,
) -> Outcome:
    result = refine(case.main, references, labels, method, rng=case.trial.seed)
    return Outcome(np.asarray(result.predictions), describe(result), result)


def _oracle(case: Case) -> Outcome:
    return _refine(case, case.tables_of_others(coupled=True), case.labels, JointDiffusion(safeguarded=False))


def _algorithm1(algorithm: Algorithm1, *, safeguarded: bool) -> Callable[[Case], Outcome]:
    """Run Algorithm 1 by itself; with a safeguard, a gain within its own standard error is refused."""

    def run(case: Case) -> Outcome:
        found = run_alone(algorithm, case.main, case.references, case.labels, case.trial.seed)
        certain = not safeguarded or found.gain is None or found.gain.is_certain
        accepted = found.has_moved and certain
        predictions = found.predictions if accepted else case.main.scores
        return Outcome(predictions, describe_alone(found, accepted=accepted, digits=DIGITS))

    return run


def _tpc(modes: tuple[Mode, ...], *, closed_form: bool) -> Callable[[Case], Outcome]:
    def run(case: Case) -> Outcome:
        references, results, seconds = _scores(case)[0][:, 1:], {}, {}
        for mode in modes:
            start, rng = time.perf_counter(), np.random.default_rng(case.trial.seed)
            results[mode] = tpc(
                case.main.scores, references, case.accuracy, mode=mode, closed_form=closed_form, rng=rng
            )
            seconds[mode] = time.perf_counter() - start
        mode, best = max(results.items(), key=lambda item: item[1].validation_accuracy)
        return Outcome(best.predictions, {"mode": mode, **best.hyperparameters, "seconds": seconds})

    return run


def _mtl(learn: Callable[[SharedSpace, IndexArray, FloatArray], RefittableLesson]) -> Callable[[Case], Outcome]:
    def run(case: Case) -> Outcome:
        learned = {kernel: learn(_space(case, kernel), case.rows, case.grades) for kernel in ("linear", "gaussian")}
        kernel, best = max(learned.items(), key=lambda item: item[1].validation_accuracy)
        return Outcome(best.predictions, {"kernel": kernel, **best.hyperparameters})

    return run


def _space(case: Case, kernel: str) -> SharedSpace:
    """Put all rankers into one space; Gaussian references are fitted again with the width of the main ranker."""
    trial, task = case.trial, case.trial.dataset.tasks[case.task]
    table = np.asarray(standardise(task.features))
    main = _ranker(trial.rankers[case.task].main, kernel)
    references = []
    for other in case.others:
        ranker = _ranker(trial.rankers[other].reference, kernel)
        if kernel == "gaussian":
            rows = trial.roles.reference_train[other]
            ranker = RankSVM("gaussian", penalty=ranker.penalty, width=main.width_)
            ranker.fit(table[rows], trial.dataset.tasks[other].labels[rows])
        references.append(ranker)
    return SharedSpace.of(main, task.labels[trial.roles.train[case.task]], references, table[trial.roles.main_rows])


def _ranker(trained: Trained, kernel: str) -> RankSVM:
    return cast(RankSVM, trained.families[kernel].ranker)


def _scores(case: Case) -> tuple[FloatArray, dict[str, object]]:
    """Return main and reference scores on all main rows (n, m + 1), and what the imputation of unknown ones chose."""
    if case.trial.protocol.kind == "coupled":
        return np.column_stack([case.main.scores, *(reference.scores for reference in case.references)]), {}
    imputed, chosen = impute(Problem.of(case.main, case.references), case.trial.seed)
    return np.column_stack([case.main.scores, imputed]), chosen


def _mean(case: Case) -> Outcome:
    scores, chosen = _scores(case)
    return Outcome(mean_of_scores(scores), chosen)


def _stack(case: Case) -> Outcome:
    scores, chosen = _scores(case)
    predictions, penalty = stack_by_ranksvm(scores, case.rows, case.grades, case.trial.seed)
    return Outcome(predictions, {**chosen, **penalty})


def _stack_by_ridge(case: Case) -> Outcome:
    return Outcome(*stack_by_ridge(_scores(case)[0], case.rows, case.grades))


def _smooth(case: Case) -> Outcome:
    score = score_of(case.labels, case.main, regression=False)
    return Outcome(*self_smoothing(case.main, score, np.random.default_rng(case.trial.seed)))


def _spread_labels(case: Case) -> Outcome:
    return Outcome(*spread_labels(case.main, case.rows, case.grades, case.trial.seed))


def _own_labels(case: Case) -> Outcome:
    return Outcome(*own_labels(case.main, case.rows, case.grades, np.random.default_rng(case.trial.seed)))


def _forest(case: Case) -> Outcome:
    imputed = impute_by_forest(Problem.of(case.main, case.references), case.trial.seed)
    return Outcome(mean_of_scores(np.column_stack([case.main.scores, imputed])), {})


def _retrain(case: Case) -> Outcome:
    """Train the main ranker anew on training and validation rows together; only its owner has the former."""
    trial, task = case.trial, case.trial.dataset.tasks[case.task]
    table = np.asarray(standardise(task.features))
    rows = np.concatenate([trial.roles.train[case.task], trial.roles.validation])
    ranker, chosen = retrain(trial.rankers[case.task].main.families, table[rows], task.labels[rows], trial.seed)
    return Outcome(ranker.predict(table[trial.roles.main_rows]), chosen)


def _retrain_and_refine(case: Case) -> Outcome:
    retrained = _retrain(case)
    main = Observations(retrained.predictions, case.main.table, ids=case.trial.roles.main_rows, name=case.task)
    result = refine(main, case.references, rng=case.trial.seed)
    return Outcome(np.asarray(result.predictions), {**retrained.hyperparameters, **describe(result)}, result)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("Ind", _ind),
        Method("JMD", lambda case: _refine(case, case.references, case.labels)),
        Method("JMD, only tuned", _algorithm1(TUNED, safeguarded=True)),
        Method("JMD, no labels", lambda case: _refine(case, case.references, None)),
        Method("JMD, no references", lambda case: _refine(case, [], case.labels)),
        Method("JMD, as published", _algorithm1(PUBLISHED, safeguarded=False)),
        Method("TPC, iterative", _tpc(("kl", "rank"), closed_form=False), COUPLED),
        Method("TPC, closed form", _tpc(("kl",), closed_form=True), COUPLED),
        Method("MTL1", _mtl(mtl1), SHARED),
        Method("MTL2", _mtl(mtl2), SHARED),
        Method("mean", _mean, COUPLED),
        Method("stacking, RankSVM", _stack, COUPLED),
        Method("stacking, ridge", _stack_by_ridge, COUPLED),
        Method("impute and average", _mean, DECOUPLED),
        Method("impute and stack", _stack, DECOUPLED),
        Method("forest and average", _forest, DECOUPLED),
        Method("self-smoothing", _smooth),
        Method("label spreading", _spread_labels),
        Method("own labels", _own_labels),
        Method("retrained", _retrain, knows_more=True),
        Method("retrained, then refined", _retrain_and_refine, knows_more=True),
        Method("coupled oracle", _oracle, DECOUPLED, knows_more=True),
    )
}
