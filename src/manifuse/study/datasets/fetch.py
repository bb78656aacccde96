"""Fetching a data set from its owner, when asked: into a folder of its own first, so that all of it comes or none."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from manifuse.errors import InputError, require
from manifuse.study.datasets.catalogue import Address, Entry
from manifuse.study.datasets.dataset import Dataset

#: Writes what is at an address into a file, as pooch's downloaders do.
Downloader = Callable[[str, str, object], None]


def fetch(entry: Entry, folder: Path, *, downloader: Downloader | None = None) -> Dataset:
    """Download a data set into the data folder and read it from there.

    Parameters
    ----------
    entry : Entry
    folder : Path
        The data folder; made if it is not there.
    downloader : callable, optional
        Used in place of pooch's for the address.

    Raises
    ------
    InputError
        If the data set has no stable public address, is there already, cannot be reached, or is not what it
        should be. Nothing is left in the data folder then.
    """
    if not entry.forms:
        raise InputError(f"{entry.name} needs no fetching; it comes from {entry.owner}.")
    if entry.address is None:
        raise InputError(
            f"{entry.name} has no stable public address to fetch it from; get it from {entry.owner}, and put "
            f"{entry.expected} into {folder}."
        )
    if entry.is_there(folder):
        raise InputError(f"{folder} has files of {entry.name} already; move them away to fetch it anew.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as name:
            staged = Path(name)
            archive = _download(entry.address, staged, downloader)
            _extract(archive, entry.address, staged)
            _try(entry, entry.address, staged)
            for path in entry.address.members.values():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged / path, folder / path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); name another with --data.") from None
    return entry.loader(folder)


def _download(address: Address, folder: Path, downloader: Downloader | None) -> Path:
    pooch = require("pooch", extra="fetch", purpose="Fetching data")
    logger = pooch.get_logger()
    level = logger.level
    # Its notes on folders and hashes would stand beside the one sentence that the user should read.
    logger.setLevel("WARNING")
    try:
        archive = pooch.retrieve(
            address.url, known_hash=address.sha256, fname="archive", path=folder, downloader=downloader
        )
    # All errors of requests are OSErrors; a ValueError is an archive of another hash.
    except (OSError, ValueError) as error:
        raise InputError(
            f"{address.url} could not be fetched ({type(error).__name__}); check that this machine is online, or "
            f"unpack it by hand so that the data folder has {next(iter(address.members.values()))} and so on."
        ) from None
    finally:
        logger.setLevel(level)
    return Path(archive)


def _try(entry: Entry, address: Address, folder: Path) -> None:
    """Read what came before it is put in place, so that changed or cut files are not taken for the data set."""
    try:
        entry.loader(folder)
    except InputError as error:
        # The folder is about to go, so its name would lead nowhere.
        reason = str(error).replace(f"{folder}{os.sep}", "")
        raise InputError(f"What {address.url} sent is not {entry.name} as it should be: {reason}") from None


def _extract(archive: Path, address: Address, folder: Path) -> None:
    """Write the wanted members under names of our own; the archive's own paths never lead anywhere."""
    try:
        with zipfile.ZipFile(archive) as opened:
            inside = {PurePosixPath(member.filename).name: member for member in opened.infolist()}
            missing = [name for name in address.members if name not in inside]
            if missing:
                raise InputError(
                    f"{address.url} came without {missing[0]}; its owner has changed it, so fetch it by hand."
                )
            for name, path in address.members.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(opened.read(inside[name]))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{address.url} came damaged ({error}); fetch it again later, or by hand.") from None
