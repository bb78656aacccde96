"""The plan: which data set goes under which protocol, by the name that the command line knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from manifuse.errors import InputError, look_up
from manifuse.study.datasets.catalogue import CATALOGUE
from manifuse.study.experiments.methods import METHODS
from manifuse.study.experiments.protocol import Protocol

#: Seed of the first trial; later ones count on. Seeds below served the choice of defaults (docs/decisions.md).
FIRST_SEED = 100


@dataclass(frozen=True)
class Experiment:
    """A data set under a protocol.

    Attributes
    ----------
    name : str
    dataset : str
        Name in the catalogue of data sets.
    protocol : Protocol
    deviations : tuple of str
        How the protocol differs from the paper's, a sentence each; how the data do, the data set says.
    """

    name: str
    dataset: str
    protocol: Protocol
    deviations: tuple[str, ...] = ()


_STRICT = "Rows that any ranker was trained on are no test rows, which leaves fewer than the paper tests on."
_STAND_IN = "Not in the paper: it stands in for Shoes, whose data are not to be had."

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "pubfig",
            "pubfig",
            Protocol("coupled", region=300),
            (f"{_STRICT} Each attribute draws its 200 training rows from the same 300.",),
        ),
        Experiment("osr", "osr", Protocol("coupled"), (_STRICT,)),
        Experiment("shoes", "shoes", Protocol("decoupled")),
        Experiment(
            "pubfig-decoupled",
            "pubfig",
            Protocol("decoupled", validation=100, main_half=422),
            (
                f"{_STAND_IN} 772 rows do not make two halves of 200 training and 200 validation rows beside 200 "
                "pairs: 100 rows validate, and the reference rankers are trained on pairs, too.",
            ),
        ),
        Experiment("osr-decoupled", "osr", Protocol("decoupled"), (_STAND_IN,)),
        Experiment("cal7", "cal7", Protocol("decoupled")),
        Experiment("nus", "nus", Protocol("decoupled")),
        Experiment("hw", "hw", Protocol("decoupled")),
        Experiment("awa", "awa", Protocol("coupled"), (_STRICT,)),
        Experiment("digits", "digits", Protocol("decoupled"), ("Not in the paper: it comes with scikit-learn.",)),
    )
}


def experiments_named(names: Iterable[str]) -> list[Experiment]:
    """Look experiments up; all of them for no name.

    Raises
    ------
    InputError
        If one is unknown; the sentence says which is nearest.
    """
    wanted = list(dict.fromkeys(names)) or list(EXPERIMENTS)
    return [look_up(name, EXPERIMENTS, kind="data set") for name in wanted]


def methods_named(names: Iterable[str]) -> list[str]:
    """Look methods up, in the order of the tables; all of them for no name.

    Raises
    ------
    InputError
        If one is unknown; the sentence says which is nearest.
    """
    wanted = {look_up(name, METHODS, kind="method").name for name in names} or set(METHODS)
    return [name for name in METHODS if name in wanted]


def deviations_of(names: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """How data and protocol of these experiments differ from the paper's, as far as the data are there to say so."""
    sentences = {}
    for name in names:
        if name not in EXPERIMENTS:
            sentences[name] = ["This version knows no experiment of this name."]
            continue
        experiment = EXPERIMENTS[name]
        entry = CATALOGUE[experiment.dataset]
        try:
            of_data = entry.load(folder).deviations if entry.is_there(folder) else ()
        except InputError as error:
            of_data = (f"What the data say of themselves could not be read: {error}",)
        sentences[name] = [*of_data, *experiment.deviations]
    return sentences
