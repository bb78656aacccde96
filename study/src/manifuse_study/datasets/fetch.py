"""Fetching: download a data set from its owner on request, so that all of it arrives or nothing does."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from manifuse.errors import InputError, require
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.datasets.source import Form, Source

#: Writes what is at an address into a file, as pooch's downloaders do.
Downloader = Callable[[str, str, object], None]


def fetch(source: Source, folder: Path, *, downloader: Downloader | None = None) -> Dataset:
    """Download a data set into the data folder and read it.

    Parameters
    ----------
    source : Source
    folder : Path
        The data folder; it is made if it is not there.
    downloader : callable, optional
        Used in place of pooch's for the address.

    Raises
    ------
    InputError
        If the data set has no stable public address, is already there, cannot be reached, or is not what was
        expected. No file is left in the data folder then, and no folder that was made for it.
    """
    if not source.forms:
        raise InputError(f"{source.name} needs no fetching; it comes from {source.owner}.")
    if source.address is None:
        raise InputError(
            f"{source.name} has no stable public address to fetch it from; get it from {source.owner}, and put "
            f"{source.expected} into {folder}."
        )
    if source.is_there(folder):
        raise InputError(f"{folder} already has files of {source.name}; move them away to fetch it again.")
    files = source.forms[-1]
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as name:
            staged = Path(name)
            _extract(_download(source.address, files, staged, downloader), source.address, files, staged)
            dataset = _try(source, staged)
            for path in files:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                os.replace(staged / path, folder / path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror}); name another with --data.") from None
    finally:
        for each in missing:
            with suppress(OSError):  # A folder that is not empty stays.
                each.rmdir()
    return dataset


def _download(address: str, files: Form, folder: Path, downloader: Downloader | None) -> Path:
    pooch = require("pooch", extra="fetch", purpose="Fetching data", of="manifuse-study")
    logger = pooch.get_logger()
    level = logger.level
    # Its notes on folders and hashes would distract from the one sentence that the user should read.
    logger.setLevel("WARNING")
    try:
        return Path(pooch.retrieve(address, known_hash=None, fname="archive", path=folder, downloader=downloader))
    # All errors of requests are OSErrors.
    except OSError as error:
        raise InputError(
            f"{address} could not be fetched ({type(error).__name__}); check that this machine is online, or download "
            f"and unpack it by hand so that the data folder has {files[0]} and so on."
        ) from None
    finally:
        logger.setLevel(level)


def _extract(archive: Path, address: str, files: Form, folder: Path) -> None:
    """Write the files that we want under paths of our own; the archive's own paths are never used."""
    try:
        with zipfile.ZipFile(archive) as opened:
            inside = {PurePosixPath(member.filename).name: member for member in opened.infolist()}
            for path in files:
                name = PurePosixPath(path).name
                if name not in inside:
                    raise InputError(
                        f"{address} came without {name}; its owner has changed it, so download it by hand."
                    )
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(opened.read(inside[name]))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{address} came damaged ({error}); fetch it again later, or download it by hand.") from None


def _try(source: Source, folder: Path) -> Dataset:
    """Read what came before it is put in place, so that changed or cut files do not pass for the data set."""
    try:
        return source.load(folder)
    except InputError as error:
        # The folder is about to be deleted, so its name would lead nowhere.
        reason = str(error).replace(f"{folder}{os.sep}", "")
        raise InputError(f"{source.address} sent something else than the data set {source.name}: {reason}") from None
