"""Arrays and archives of NumPy, read without executing anything in them."""

import math
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.tables.paths import demand_file, demand_memory, reading

#: An archive whose arrays take more bytes than this must not be packed into less than so small a part of its size.
LARGE, PACKED = 1 << 30, 200


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read every array of an ``.npz`` file.

    Raises
    ------
    InputError
        If the file is damaged, is not an archive, contains Python objects, does not fit into memory, or packs far more
        than a table can hold.
    """
    demand_file(path)
    with reading(path, "a NumPy archive"):
        needed, packed, unpacked = 0.0, path.stat().st_size, 0
        with zipfile.ZipFile(path) as archive:
            for name, times in Counter(archive.namelist()).items():
                if times > 1:
                    raise InputError(
                        f"{path} has {times} arrays called {name.removesuffix('.npy')!r}; leave only one."
                    )
            for member in archive.infolist():
                unpacked += member.file_size
                with archive.open(member) as file:
                    name = member.filename.removesuffix(".npy")
                    needed += size_of_array(file, member.file_size, f"Array {name!r} of {path}")
        demand_memory(path, needed)
        if needed > LARGE and unpacked > PACKED * packed:
            raise InputError(
                f"{path} packs {unpacked / 1e9:.1f} GB into {packed / 1e6:.1f} MB, as no measurements can be; save it "
                "with numpy.savez if this is meant."
            )
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)


def read_features(path: Path) -> NDArray[Any]:
    """Read the array of features in an ``.npy`` file.

    Raises
    ------
    InputError
        If the file has another ending, is damaged, is not an array, contains Python objects, or does not fit into
        memory.
    """
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path} ends in {path.suffix!r}, but a file of features must end in .npy; save it as .npy.")
    demand_file(path)
    with reading(path, "a NumPy array"), path.open("rb") as file:
        demand_memory(path, size_of_array(file, path.stat().st_size, str(path)))
        file.seek(0)
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def size_of_array(file: Any, held: int, what: str) -> float:
    """Return the bytes that an array of an opened file takes in memory, by its head; ``held`` bytes if it has none.

    Raises
    ------
    InputError
        If it has Python objects; the message says ``what`` it is.
    ValueError
        If its entries have no bytes, or it has fewer than it promises.
    """
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        return held
    version = tuple(file.read(2))
    heads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in heads:
        raise ValueError(f"an array of version {'.'.join(map(str, version))} came")
    shape, _, dtype = heads[version](file)
    entries = math.prod(shape)
    if dtype.hasobject:
        raise InputError(
            f"{what} holds Python objects, which are not read; save it as text or numbers, as with .astype(str)."
        )
    if not dtype.itemsize:
        raise ValueError(f"entries of type {dtype} have no bytes")
    if entries * dtype.itemsize > held:
        raise ValueError(f"{entries * dtype.itemsize:,} bytes were promised and {held:,} are there")
    return bytes_in_use(entries, dtype)


def bytes_in_use(entries: int, dtype: Any) -> float:
    """Return the bytes that entries of a NumPy type take: as they are, and if they are no floats as floats, too."""
    is_kept = dtype.kind == "f" and dtype.itemsize >= 4
    size: int = dtype.itemsize
    return float(entries) * (max(8, size) if is_kept else size + 8)
