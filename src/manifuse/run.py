"""The front door: refine one predictor by others."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours
from manifuse.backends.torch import Torch
from manifuse.diffusion.bridges import Bridges, neighbours_of
from manifuse.diffusion.extension import Extension, Lookup
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.joint import Path, Reason, diffuse
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import NEIGHBOURS, Presmoothing, choose_presmoothing
from manifuse.diffusion.problem import Problem, Reference
from manifuse.diffusion.randomness import Stream, generator
from manifuse.errors import InputError, ManifuseWarning, MissingExtraError, demand, look_up
from manifuse.evidence.relevance import PairEvidence, Relevance, align_pairs, weigh_pairs
from manifuse.evidence.score import Gain, Score
from manifuse.evidence.tuning import choose_bridges, scalings_to_try
from manifuse.footprint import demand_memory
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.columns import means_and_deviations
from manifuse.refinement import Choice, Refinement, support_of_rows


def refine(
    main: Observations,
    references: Sequence[Observations],
    labels: RankLabels | None = None,
    method: JointDiffusion | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    backend: Backend | None = None,
) -> Refinement:
    """Refine a predictor by what others say, even of other rows.

    Parameters
    ----------
    main : Observations
        The predictor to refine.
    references : sequence of Observations
        Others' predictions. Rows with ids of the main table are its pairs; a reference that has all main
        ids needs no features.
    labels : RankLabels, optional
        What is known of the truth of some main rows. Chooses hyperparameters and decides whether the
        refinement is taken; none is needed.
    method : JointDiffusion, optional
        The hyperparameters; the defaults are sound.
    rng : numpy.random.Generator or int, optional
        Draws the folds of held-out pairs and their permutations. The result keeps the seed.
    backend : Backend, optional
        Where neighbours are searched and graphs are kept. If nothing else is said: where the tensors of ``main`` are,
        else this machine.

    Returns
    -------
    Refinement

    Raises
    ------
    InputError
        If the tables do not fit together, or the run would not fit into memory; the message says what to do.

    Notes
    -----
    Algorithm 1 of [1]_, with the readings of ``docs/paper.md``.

    References
    ----------
    .. [1] Kim, K. I. and Chang, H. J. "Joint Manifold Diffusion for Combining Predictions on Decoupled
       Observations", CVPR 2019.

    Examples
    --------
    Twenty rows with known truth, a noisy predictor, and two references with less noise on the same rows:

    >>> import numpy as np
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> truth, ids = np.arange(20.0), range(20)
    >>> ours = mf.Observations(truth + 6 * noise.standard_normal(20), ids=ids, name="ours")
    >>> others = [
    ...     mf.Observations(truth + 3 * noise.standard_normal(20), ids=ids, name=name) for name in ("A", "B")
    ... ]
    >>> result = mf.refine(ours, others, rng=0)
    >>> bool(np.corrcoef(result.predictions, truth)[0, 1] > np.corrcoef(ours.scores, truth)[0, 1])
    True
    """
    references = tuple(references) if isinstance(references, Iterable) else (references,)
    method = JointDiffusion() if method is None else method
    demand(Observations, main, *references)
    demand(JointDiffusion, method)
    demand(RankLabels, *(() if labels is None else (labels,)))
    seed = _seed_of(rng)
    problem = Problem.of(main, references)
    for name in method.ignored:
        look_up(name, {reference.name: reference for reference in references}, kind="reference named")
    score = None if labels is None else problem.score(labels, regression=method.is_regression)
    step_sizes, weight_scales = method.grid(labelled=score is not None)
    backend = _backend_of(main) if backend is None else backend
    demand(Backend, backend)
    demand_memory(problem, method, backend, labelled=score is not None)
    scalings = scalings_to_try(problem, method, seed, backend)
    presmoothing, mains = presmooth(problem, method, score, seed, backend, scalings)
    if presmoothing is not None:
        problem = problem.starting_from(presmoothing.stages()[-1])
    bridges, folds, trials = choose_bridges(problem, method, seed, backend, scalings, mains)
    evidence = weigh_pairs(bridges, folds, seed)
    gates = _gates(problem, evidence, method)
    path = diffuse(bridges, method, gates, score)
    # What is kept needs no device and no cluster any more.
    presmoothing = None if presmoothing is None else presmoothing.on_host()
    refined = problem.restore(path.predictions)
    gain = None if score is None else score.gain(main.scores[score.rows], refined[score.rows])
    reason = path.reason
    if not path.coefficients:
        reason = Reason.NOTHING_BETTER if presmoothing is None else Reason.SMOOTHED_ONLY
    refusal = _refusal(gates, gain, reason, safeguarded=method.safeguarded)
    refined = refined if refusal is None else main.scores
    transport = path.transport
    # Where no round was taken, no reference took part.
    weights = np.array(path.history[-1].weights) if path.coefficients else np.zeros(len(references))
    typical = np.array(
        [np.median(transport.row_sums[r.main_rows, place]) for place, r in enumerate(problem.references)]
    )
    return Refinement(
        predictions=main.like_predictions(refined),
        accepted=refusal is None,
        reason=reason if refusal is None else refusal,
        relevance=_relevance(problem, path, evidence, weights, transport.reached.mean(axis=0), seed),
        weights=weights,
        support=support_of_rows(transport.row_sums * transport.reached, typical, weights),
        history=path.history,
        choice=Choice(
            setting=bridges.setting,
            standardised=bridges.standardised,
            recall=bridges.recall,
            step_size=path.history[0].step_size,
            weight_scale=path.history[0].weight_scale,
            step_sizes=step_sizes,
            weight_scales=weight_scales,
            surface=path.surface,
            trials=trials,
            presmoothing=presmoothing,
        ),
        accuracy=None if score is None else _accuracy(score, main.scores, refined),
        gain=gain,
        method=method,
        seed=seed,
        main=main,
        _refined=refined,
        _typical=typical,
        _extension=_extension_of(bridges, references, path, presmoothing, method),
    )


def _extension_of(
    bridges: Bridges,
    references: Sequence[Observations],
    path: Path,
    presmoothing: Presmoothing | None,
    method: JointDiffusion,
) -> Extension | Fit:
    """What rows that come later go by, or what makes it should they come."""
    lookups = tuple(
        Lookup(table.keys, reference.scores) if reference.is_coupled else None
        for table, reference in zip(references, bridges.problem.references, strict=True)
    )
    kept = bridges.to_keep()
    if path.rounds is None:
        return Fit(kept, lookups, path.coefficients, presmoothing, method)
    return Extension.of(kept, lookups, path.rounds, presmoothing, method)


def _seed_of(rng: np.random.Generator | int | None) -> int:
    """Return the seed itself, or one drawn from the generator or from the system."""
    if isinstance(rng, Integral):
        if rng < 0:
            raise InputError(f"rng={rng} came, but a seed must be 0 or more.")
        return int(rng)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(f"rng={rng!r} came, but a whole number or a numpy.random.Generator was expected.")
    return int(np.random.default_rng(rng).integers(2**63))


def _backend_of(main: Observations) -> Backend:
    """Where the tensors of a table are, or this machine."""
    return Host() if main.device is None else Torch(main.device)


def presmooth(
    problem: Problem,
    method: JointDiffusion,
    score: Score | None,
    seed: int,
    backend: Backend,
    scalings: Sequence[tuple[bool, ...]],
) -> tuple[Presmoothing | None, list[Neighbours]]:
    """Presmooth the main predictor, where the method asks for it and labels and features allow it.

    ``scalings`` are the ways to scale features, as `scalings_to_try` has them.

    Returns
    -------
    presmoothing : Presmoothing or None
    searched : list of Neighbours
        The searches of the main table that were made for it.
    """
    main = problem.main
    if score is None or not method.presmoothed or not main.has_graph:
        return None, []
    coupled = problem.is_coupled
    if coupled and main.table is not None and not means_and_deviations(main.table)[1].any():
        return None, []
    count = max(*choices(method.neighbours), *NEIGHBOURS)
    rng = generator(seed, Stream.RECALL)
    try:
        searched = [neighbours_of(main, count, method, backend, standardised=flag, rng=rng) for flag, *_ in scalings]
    except MissingExtraError as error:
        if not coupled:
            raise
        # Without it a coupled run is as good as ever was.
        warnings.warn(f"{main.name} is not presmoothed: {error}", ManifuseWarning, stacklevel=3)
        return None, []
    return choose_presmoothing(main, searched, score, backend), searched


def takes_part(reference: Reference, seen: PairEvidence, method: JointDiffusion) -> bool:
    """Whether a reference takes part: it has something to say, is not to be ignored, and does better than chance."""
    return not (reference.is_idle or reference.name in method.ignored or (method.ignore_chance and seen.is_chance))


def _gates(problem: Problem, evidence: Sequence[PairEvidence], method: JointDiffusion) -> FloatArray:
    """1 for references that take part, 0 for those to be ignored, idle ones and those no better than chance."""
    return np.array(
        [
            1.0 if takes_part(reference, seen, method) else 0.0
            for reference, seen in zip(problem.references, evidence, strict=True)
        ]
    )


def _refusal(gates: FloatArray, gain: Gain | None, reason: Reason, *, safeguarded: bool) -> Reason | None:
    """Why the main predictor is to come back unchanged; None if the refinement is taken."""
    if not gates.any():
        return Reason.NO_REFERENCE
    if reason is Reason.NOTHING_BETTER:
        return reason
    if gain is not None and safeguarded and not gain.is_certain:
        return Reason.GAIN_UNCERTAIN
    return None


def _relevance(
    problem: Problem, path: Path, evidence: Sequence[PairEvidence], weights: FloatArray, reached: FloatArray, seed: int
) -> tuple[Relevance, ...]:
    last = path.history[-1]
    # Of the scores as they came: those that the labels had smoothed lean to the good side.
    aligned = [align_pairs(problem.main.scores, reference, seed) for reference in problem.references]
    return tuple(
        Relevance(
            name=reference.name,
            alignment=last.alignments[place],
            held_out_alignment=aligned[place][0],
            chance_alignment=aligned[place][1],
            fidelity=seen.fidelity,
            weight=float(weights[place]),
            reached=float(reached[place]),
            pairs=len(reference.main_rows),
        )
        for place, (reference, seen) in enumerate(zip(problem.references, evidence, strict=True))
    )


def _accuracy(score: Score, before: FloatArray, after: FloatArray) -> dict[str, dict[str, float]]:
    return {
        "before": score.report(before[score.rows]),
        "after": score.report(after[score.rows]),
    }
