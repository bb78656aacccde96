"""``manifuse explore``: a problem from files or data sets, the page that shows it, and what the page exports."""

from __future__ import annotations

import csv
import io
import ipaddress
import socket
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from os.path import realpath
from pathlib import Path
from typing import Any

import numpy as np

from manifuse.cli.backend_names import HOST
from manifuse.cli.config import config_text
from manifuse.cli.console import say
from manifuse.cli.output import WRITTEN
from manifuse.cli.refine_command import read_problem
from manifuse.cli.request import RefineRequest
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError, look_up, require
from manifuse.page.exploration import Exploration
from manifuse.page.server import Export, Page
from manifuse.study.datasets.catalogue import CATALOGUE
from manifuse.study.datasets.dataset import data_folder
from manifuse.study.experiments.plan import EXPERIMENTS
from manifuse.study.experiments.protocol import Trial


@dataclass(frozen=True)
class ShownFiles:
    """A problem of files; they stay where they are, and the export is the config alone.

    Attributes
    ----------
    request : RefineRequest
    """

    request: RefineRequest

    def export(self, method: JointDiffusion) -> Export:
        """Return the config, to be run from the folder that the files were named from.

        It says what is shown, and nothing of what else a run was to do.
        """
        shown = replace(self.request, method=method, save=None, report=None, backend=HOST, cache=None)
        content = config_text(shown).encode()
        return Export("run.toml", content, "manifuse refine --config run.toml")


@dataclass(frozen=True, eq=False)
class ShownTables:
    """A problem that stands in no files yet; the export brings them along.

    Attributes
    ----------
    exploration : Exploration
    """

    exploration: Exploration

    def export(self, method: JointDiffusion) -> Export:
        """Return an archive of the tables and the config, to be run from the folder it is unpacked in."""
        exploration, content = self.exploration, io.BytesIO()
        request = RefineRequest(
            main=f"{exploration.main.name}.npz",
            references=[f"{reference.name}.npz" for reference in exploration.references],
            out=Path("refined.npz"),
            labels=None if exploration.labels is None else Path("labels.csv"),
            pairs=None,
            features=None,
            method=method,
            seed=exploration.seed,
            drop_invalid=False,
        )
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for table in (exploration.main, *exploration.references):
                # Without the hour, so that the same problem gives the same bytes.
                archive.writestr(zipfile.ZipInfo(f"explored/{table.name}.npz"), _as_archive(table))
            if exploration.labels is not None:
                archive.writestr(zipfile.ZipInfo("explored/labels.csv"), _as_text(exploration.labels))
            archive.writestr(zipfile.ZipInfo("explored/run.toml"), config_text(request))
        command = "unzip explored.zip && cd explored && manifuse refine --config run.toml"
        return Export("explored.zip", content.getvalue(), command)


def explore_files(request: RefineRequest) -> Page:
    """Read the problem that a request names, and make its page."""
    _, main, references, labels = read_problem(request)
    title = f"{main.name}, refined by {', '.join(reference.name for reference in references)}"
    exploration = Exploration(title, main, tuple(references), labels, request.method, request.seed)
    _check(exploration)
    return Page(exploration, ShownFiles(request).export)


def explore_dataset(name: str | None, view: str | None, data: Path | None, method: JointDiffusion, seed: int) -> Page:
    """Train the rankers of a data set, draw a trial of its protocol, and make the page of one main predictor.

    Parameters
    ----------
    name : str or None
        None: the first that is in the data folder, if one is named; else the digits.
    view : str or None
        Whose task the main predictor has; the first by default.
    data : Path or None
    method : JointDiffusion
    seed : int
        Of the trial, and of the refinement.
    """
    folder = data_folder(data)
    if name is None:
        there = [each for each in EXPERIMENTS.values() if data is not None and _is_in(each.dataset, folder)]
        name = there[0].name if there else "digits"
        if data is not None and not there:
            raise InputError(f"{folder} holds no data set; manifuse datasets check says what it expects.")
    experiment = look_up(name, EXPERIMENTS, kind="data set")
    dataset = CATALOGUE[experiment.dataset].load(folder)
    view = next(iter(dataset.tasks)) if view is None else view
    look_up(view, dataset.tasks, kind=f"task of {name} named")
    trial = Trial.prepare(dataset, experiment.protocol, seed)
    test = trial.roles.test
    exploration = Exploration(
        title=f"{dataset.title}: {view}",
        main=trial.main_table(view),
        references=tuple(trial.references(view)),
        labels=trial.labels(view),
        method=method,
        seed=seed,
        held_back=RankLabels(test, dataset.tasks[view].labels[test]),
    )
    _check(exploration)
    return Page(exploration, ShownTables(exploration).export)


def request_of_files(given: Mapping[str, Any]) -> dict[str, Any]:
    """Add to options and config the output that `refine` asks for, as the export names it: none of what is read."""
    main = Path(str(given.get("main", "")).partition("::")[0])
    # What is read and never written is answered in CSV.
    ending = main.suffix.lower() if main.suffix.lower() in WRITTEN else ".csv"
    tables = [given.get("main", ""), *given.get("reference", ())]
    others = [given[name] for name in ("labels", "pairs") if name in given]
    read = {realpath(str(each).partition("::")[0]) for each in (*tables, *others)}
    names = chain([f"refined{ending}"], (f"refined-{number}{ending}" for number in count(2)))
    return {"out": next(name for name in names if realpath(name) not in read), **given}


def listen(host: str, port: int) -> socket.socket:
    """Take the port, before any work is done.

    Raises
    ------
    InputError
        If it cannot be had.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InputError(f"Port {port} of {host} cannot be listened on ({error.strerror}); choose others.") from None


def serve(page: Page, listening: socket.socket, *, host: str) -> None:
    """Serve a page until it is interrupted; ``host`` is what the socket was asked to listen on."""
    uvicorn = require("uvicorn", extra="page", purpose="manifuse explore")
    shown = f"[{host}]" if ":" in host else host
    application = page.application(names=(shown, socket.gethostname()), any_address=_is_everywhere(host))
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning", server_header=False))
    say(f"The page is at http://{shown}:{listening.getsockname()[1]} (ctrl-C ends it).")
    if not _is_loopback(listening.getsockname()[0]):
        say(
            f"manifuse: Everyone who can reach {shown} can read the tables on this page; without --host only this "
            "machine can.",
            style="yellow",
        )
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        # The way to leave, and no failure.
        return
    finally:
        page.close()


def _is_everywhere(host: str) -> bool:
    """Whether a host stands for all interfaces."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _is_loopback(address: str) -> bool:
    """Whether an address that is listened on can be reached from this machine alone."""
    return ipaddress.ip_address(address).is_loopback


def _is_in(dataset: str, folder: Path) -> bool:
    """Whether a data set lies in the folder, and not only in a package."""
    entry = CATALOGUE[dataset]
    return bool(entry.forms) and entry.is_there(folder)


def _check(exploration: Exploration) -> None:
    """Refuse, before the page opens, what `refine` would refuse."""
    exploration.method.grid(labelled=exploration.labels is not None)
    exploration.score(exploration.problem())


def _as_archive(table: Observations) -> bytes:
    content = io.BytesIO()
    arrays: dict[str, Any] = {"ids": table.keys, "scores": table.scores}
    if table.table is not None:
        arrays["features"] = table.table
    np.savez(content, **arrays)
    return content.getvalue()


def _as_text(labels: RankLabels) -> str:
    assert labels.grades is not None, "data sets have graded labels"
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(["id", "label"])
    writer.writerows(zip(labels.keys.tolist(), labels.grades.tolist(), strict=True))
    return content.getvalue()
