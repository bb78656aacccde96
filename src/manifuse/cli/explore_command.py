"""``manifuse explore``: the problem that the page shows, its server, and the run that the page exports."""

import io
import ipaddress
import signal
import socket
import zipfile
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from manifuse.cli.config import config_text, method_of, read_options
from manifuse.cli.console import say
from manifuse.cli.refine_command import read_problem
from manifuse.cli.refine_options import HOST, GivenOptions, RefineOptions
from manifuse.datasets import load
from manifuse.errors import InputError
from manifuse.files import identity
from manifuse.page.exploration import Exploration
from manifuse.page.server import Export, Page, server_of
from manifuse.run.method import JointDiffusion
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.output import WRITTEN, table_bytes
from manifuse.tables.paths import files_in

#: The data set that is shown without tables; how many labels it has, and how many others have, as some are small.
DIGITS, LABELS, FEW = "digits", 200, 50


def open_page(given: GivenOptions, dataset: str | None, view: str | None, data: Path | None) -> Page:
    """Make the page of the tables that the options name, or of a data set if they name none.

    Raises
    ------
    InputError
        If both tables and a data set are named, or `refine` would refuse the problem.
    """
    if given.keys() <= {"task"}:
        return explore_dataset(dataset, view, data, **given)
    if dataset is not None or view is not None or data is not None:
        raise InputError(
            "Both tables and a data set came, but the page shows one problem; leave out the tables, or --dataset, "
            "--view and --data."
        )
    return explore_files(given)


def explore_files(given: GivenOptions) -> Page:
    """Read the problem that options name, and make its page."""
    options = read_options(given, out=Path())
    if not options.reference:
        raise InputError("--reference is missing; the page shows what references do, so give at least one.")
    if options.out == Path():
        options = replace(options, out=_name_of_output(options))
    main, references, labels = read_problem(options)
    title = f"{main.name}, refined by {', '.join(reference.name for reference in references)}"
    exploration = Exploration(title, main, tuple(references), labels, method_of(options), options.seed)
    return Page(exploration, partial(export_config, options))


def explore_dataset(
    name: str | None, view: str | None, data: Path | None, *, seed: int = 0, **hyperparameters: Any
) -> Page:
    """Make the page of one main predictor of a data set.

    Parameters
    ----------
    name : str or None
        None: the digits, which come with the package.
    view : str or None
        The view whose predictor is refined; None: the first.
    data : Path or None
        The data folder.
    seed : int
        Of the split, and of the refinement.
    **hyperparameters
        Of the method.

    Raises
    ------
    InputError
        If there is no such data set or view, or a data folder was named, but no data set.
    """
    if name is None and data is not None:
        raise InputError(f"--data {data} came without --dataset; name the data set of this folder, too.")
    name = name or DIGITS
    example = load(name, view, labels=LABELS if name == DIGITS else FEW, seed=seed, folder=data)
    title, method = f"{name}: {example.main.name}", JointDiffusion(**hyperparameters)
    exploration = Exploration(title, example.main, example.references, example.labels, method, seed)
    return Page(exploration, partial(export_tables, exploration))


def export_config(options: RefineOptions, method: JointDiffusion) -> Export:
    """Export the config of a problem in files, to be run in the folder that their paths are relative to.

    The config repeats what the page shows, and asks for nothing else.
    """
    shown = replace(options, save=None, report=None, backend=HOST)
    return Export("run.toml", config_text(shown, method).encode(), "manifuse refine --config run.toml")


def export_tables(exploration: Exploration, method: JointDiffusion) -> Export:
    """Export the tables of a problem that is in no files, with a config to be run beside them."""
    files = {f"{table.name}.npz": _as_archive(table) for table in (exploration.main, *exploration.references)}
    main, *references = files
    labels, out = None if exploration.labels is None else Path("labels.csv"), Path("refined.npz")
    options = RefineOptions(main=main, reference=references, out=out, labels=labels, seed=exploration.seed)
    if isinstance(exploration.labels, RankLabels):
        files["labels.csv"] = _as_text(exploration.labels)
    files["run.toml"] = config_text(options, method).encode()
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file in files.items():
            # ZipInfo sets no time, so that the same problem gives the same bytes.
            archive.writestr(zipfile.ZipInfo(f"explored/{name}"), file)
    command = "unzip explored.zip && cd explored && manifuse refine --config run.toml"
    return Export("explored.zip", content.getvalue(), command)


def listen(host: str, port: int) -> socket.socket:
    """Open the port, before any work is done.

    Raises
    ------
    InputError
        If the port cannot be opened.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise InputError(
            f"Port {port} of {host} cannot be listened on ({error.strerror}); choose another port or host."
        ) from None


def serve(page: Page, listening: socket.socket, *, host: str) -> None:
    """Serve a page until it is interrupted; ``host`` is the address that the user asked to listen on."""
    shown = f"[{host}]" if ":" in host else host
    name, port = listening.getsockname()[:2]
    address = ipaddress.ip_address(name)
    application = page.application(names=(shown, socket.gethostname()), any_address=address.is_unspecified)
    server = server_of(application)
    say(f"The page is at http://{shown}:{port} (ctrl-C ends it).")
    if not address.is_loopback:
        say(
            f"manifuse: Everyone who can reach {shown} can read the tables on this page; without --host, only this "
            "machine can.",
            style="yellow",
        )
    if hasattr(signal, "SIGHUP"):  # uvicorn knows ctrl-C and SIGTERM.
        signal.signal(signal.SIGHUP, server.handle_exit)
    # An interrupt is how users leave, and not a failure.
    with closing(page), suppress(KeyboardInterrupt):
        server.run(sockets=[listening])


def _name_of_output(options: RefineOptions) -> Path:
    """Name an output in the format of the main table, or else in CSV, that overwrites no input."""
    ending = Path(options.main.partition("::")[0]).suffix.lower()
    ending = ending if ending in WRITTEN else ".csv"
    read = {identity(file) for given in options.inputs for file in files_in(given)}
    names = (f"refined{'' if number == 1 else f'-{number}'}{ending}" for number in count(1))
    return Path(next(name for name in names if identity(name) not in read))


def _as_archive(table: Observations) -> bytes | memoryview:
    features = {} if table.table is None else {"features": table.table}
    return table_bytes(".npz", {"id": table.keys, "score": table.scores, **features})


def _as_text(labels: RankLabels) -> bytes | memoryview:
    assert labels.grades is not None, "data sets have graded labels"
    return table_bytes(".csv", {"id": labels.keys, "label": labels.grades})
