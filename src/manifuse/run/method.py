"""JointDiffusion: what `refine` does, as a value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Literal

from manifuse.diffusion.algorithm1 import Algorithm1, demand_value
from manifuse.diffusion.schemes import MOST_COUNTED, is_count
from manifuse.errors import InputError, demand, look_up

#: Fewer rows of a large table would say too little of it.
FEWEST_FITTED = 100

#: What others call a seed.
SEEDS = ("seed", "random_state", "random_seed")


@dataclass(frozen=True)
class JointDiffusion:
    """Joint manifold diffusion: what `refine` does.

    Labels teach, and decide how far the refinement goes. Without labels, the references are asked whether they predict
    the same thing as the main predictor. The paper's Algorithm 1 is a part: it diffuses what was learned.

    Parameters
    ----------
    diffusion : Algorithm1
        Graphs, bridges and rounds, with one step size and one weight scale.
    same_target : bool or None
        Whether the references predict the same thing as the main predictor. True: they are followed, but for those
        that are clearly high where it is low. None: they are followed unless the data contradict it. False: they must
        show it, and that they add to the main predictor.
    ignored : tuple of str
        Names of references that get weight 0 in any case. As long as they are there, they have a say in how the main
        features are scaled for the graph.
    fitted_rows : int or None
        About how many rows of a table are fitted, at least 100, if it has more: all labelled rows; pairs, up to 2,000
        or half of this number, whichever is more; and others, drawn at random. All other rows are refined as later
        rows are. None fits all rows.
    task : {"ranking", "regression"}
        What labels measure: ranking accuracy or root mean squared error.
    safeguarded : bool
        With labels, go only as far as the probability that there is a gain at labels that were held out. If there is a
        loss above its standard error, return the main predictor unchanged, but for rows that references know
        themselves: these follow the references unless labels there show a loss, too.

    Raises
    ------
    InputError
        If a value is out of range.

    References
    ----------
    .. [1] Kim, K. I. and Chang, H. J. "Joint Manifold Diffusion for Combining Predictions on Decoupled Observations",
       CVPR 2019.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.JointDiffusion(same_target=True, diffusion=mf.Algorithm1(neighbours=20)).diffusion.neighbours
    20
    """

    diffusion: Algorithm1 = Algorithm1()
    same_target: bool | None = None
    ignored: tuple[str, ...] = ()
    fitted_rows: int | None = 20_000
    task: Literal["ranking", "regression"] = "ranking"
    safeguarded: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.ignored, list):
            object.__setattr__(self, "ignored", tuple(self.ignored))
        are_names = isinstance(self.ignored, tuple) and all(isinstance(name, str) for name in self.ignored)
        counts = f"whole numbers from {FEWEST_FITTED} to {MOST_COUNTED:,}"
        for name, fits, expected in (
            ("diffusion", isinstance(self.diffusion, Algorithm1), "the hyperparameters of an Algorithm1"),
            ("same_target", isinstance(self.same_target, bool | None), "True, False or None"),
            ("ignored", are_names, "names of references"),
            ("fitted_rows", self.fitted_rows is None or is_count(self.fitted_rows, FEWEST_FITTED), counts),
            ("task", self.task in ("ranking", "regression"), "'ranking' or 'regression'"),
            ("safeguarded", isinstance(self.safeguarded, bool), "True or False"),
        ):
            demand_value(name, getattr(self, name), fits, expected)
        if not self.diffusion.has_one_cell:
            raise InputError(
                "Several values of step_size or weight_scale came, but labels teach and do not choose among them; "
                "give one value of each."
            )

    @property
    def is_regression(self) -> bool:
        """Whether the labels are target values, and not only an order."""
        return self.task == "regression"


def checked_method(method: JointDiffusion | None) -> JointDiffusion:
    """Return a method, or the one of the defaults; refuse anything else."""
    method = JointDiffusion() if method is None else method
    demand(JointDiffusion, method)
    return method


def parameters_of(method: JointDiffusion) -> dict[str, Any]:
    """Every hyperparameter by its name; those of the diffusion also as ``diffusion__*``."""
    inner = {f"diffusion__{field.name}": getattr(method.diffusion, field.name) for field in fields(Algorithm1)}
    return {field.name: getattr(method, field.name) for field in fields(JointDiffusion)} | inner


def with_parameters(
    method: JointDiffusion, values: Mapping[str, Any], *, others: Iterable[str] = ()
) -> JointDiffusion:
    """Return the method with other hyperparameters, by the names of `parameters_of`.

    A misspelt name may have meant one of ``others``, which are no hyperparameters.

    Raises
    ------
    InputError
        If there is no such hyperparameter, or a value is out of range.
    """
    known = parameters_of(method)
    for name in values:
        if name in SEEDS:
            raise InputError(f"{name} is no hyperparameter; give the seed as rng, or as random_state of an estimator.")
        meant = get_close_matches(name, others, n=1)
        if meant and name not in known:
            raise InputError(f"There is no parameter {name!r}; did you mean {meant[0]!r}?")
        look_up(name, known, kind="hyperparameter named")
    outer = {name: value for name, value in values.items() if "__" not in name}
    inner = {name.removeprefix("diffusion__"): value for name, value in values.items() if "__" in name}
    made = replace(method, **outer)
    return replace(made, diffusion=replace(made.diffusion, **inner)) if inner else made
