"""The plan: which data set has which protocol, by the name that the command line knows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from manifuse.errors import InputError, look_up
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.experiments.methods import METHODS
from manifuse_study.experiments.protocol import Protocol

#: Seed of the first trial; every later trial adds one. The defaults were chosen on lower seeds (docs/decisions.md).
FIRST_SEED = 100


@dataclass(frozen=True)
class Experiment:
    """A data set under a protocol.

    Attributes
    ----------
    name : str
    title : str
        The name as people write it.
    dataset : str
        Name in the catalogue of data sets.
    protocol : Protocol
    deviations : tuple of str
        How the protocol differs from the paper's, one sentence each. How the data differ, the data set says.
    """

    name: str
    title: str
    dataset: str
    protocol: Protocol
    deviations: tuple[str, ...] = ()

    def load(self, folder: Path) -> Dataset:
        """Read the data set; see `Source.load`."""
        return CATALOGUE[self.dataset].load(folder)


_STRICT = "Rows on which any ranker was trained are not test rows, so there are fewer than the paper tests on."
_REPLACES_SHOES = "Not in the paper: it replaces Shoes, whose data are not available."

EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "pubfig",
            "PubFig",
            "pubfig",
            Protocol("coupled", region=300),
            (f"{_STRICT} Each attribute draws its 200 training rows from the same 300.",),
        ),
        Experiment("osr", "OSR", "osr", Protocol("coupled"), (_STRICT,)),
        Experiment("shoes", "Shoes", "shoes", Protocol("decoupled")),
        Experiment(
            "pubfig-decoupled",
            "PubFig, decoupled",
            "pubfig",
            Protocol("decoupled", validation=100, main_half=422),
            (
                f"{_REPLACES_SHOES} 772 rows are too few for 200 pairs and two halves with 200 training and 200 "
                "validation rows each. So 100 rows validate, and the reference rankers are trained on pairs, too.",
            ),
        ),
        Experiment("osr-decoupled", "OSR, decoupled", "osr", Protocol("decoupled"), (_REPLACES_SHOES,)),
        Experiment("cal7", "Cal7", "cal7", Protocol("decoupled")),
        Experiment("nus", "NUS", "nus", Protocol("decoupled")),
        Experiment("hw", "HW", "hw", Protocol("decoupled")),
        Experiment("awa", "AWA", "awa", Protocol("coupled"), (_STRICT,)),
        Experiment(
            "lipophilicity",
            "Lipophilicity",
            "lipophilicity",
            Protocol("decoupled"),
            ("Not in the paper: molecules with one measured, continuous truth.",),
        ),
        Experiment(
            "digits", "Digits", "digits", Protocol("decoupled"), ("Not in the paper: it comes with scikit-learn.",)
        ),
    )
}


def experiments_named(names: Iterable[str], others: Iterable[str] = ()) -> list[Experiment]:
    """Look experiments up by name; without names, return all of them.

    ``others`` are names that could have come, too, for the message.

    Raises
    ------
    InputError
        If one is unknown; the sentence says which is nearest.
    """
    wanted = list(dict.fromkeys(names))
    for name in wanted:
        look_up(name, dict.fromkeys([*EXPERIMENTS, *others]), kind="data set")
    return [EXPERIMENTS[name] for name in wanted or EXPERIMENTS]


def methods_named(names: Iterable[str], known: Collection[str] = METHODS) -> list[str]:
    """Look methods up by name, in the order of those that are known; without names, return all of them.

    Raises
    ------
    InputError
        If one is unknown; the sentence says which is nearest.
    """
    by_name = {name: name for name in known}
    wanted = {look_up(name, by_name, kind="method") for name in names} or by_name
    return [name for name in known if name in wanted]


def deviations_of(names: Iterable[str], folder: Path) -> dict[str, list[str]]:
    """Say how the data of these experiments, if they are there, and the protocols differ from the paper's."""
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
            of_data = (f"The data could not be read, so how they differ is not known: {error}",)
        sentences[name] = [*of_data, *experiment.deviations]
    return sentences
