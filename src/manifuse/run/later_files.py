"""Tables of later rows in files, refined part by part: in this process, or by the workers of a Dask cluster."""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.columns.refined_scores import LITTLE, refined_columns
from manifuse.errors import InputError, ManifuseError, ManifuseWarning, pass_on
from manifuse.files import check_place, unfinished, writing
from manifuse.grid import many
from manifuse.kernels.keys import hashes_of
from manifuse.run.changed_rows import changed_rows
from manifuse.run.engine import cluster
from manifuse.run.refinement import Refinement
from manifuse.tables.arranging import demand_same_classes
from manifuse.tables.observations import Observations
from manifuse.tables.output import TableWriter, table_bytes
from manifuse.tables.score_tables import WINDOW, LaterTable
from manifuse.tables.straightening import straightened_by
from manifuse.tables.table import Table
from manifuse.tables.table_checks import tell_left_out

#: To compare a table of several windows with the fitted rows, so many short windows are read, evenly spread over the
#: table, with so many rows each.
LOOKS, ROWS_OF_LOOK = 20, 1000

#: Rows of a part that a worker refines.
ROWS = 4 * WINDOW


@dataclass(frozen=True, eq=False)
class RefinedPart:
    """The outcome for one part of a table.

    Attributes
    ----------
    keys : (q,) array of str
        Ids of the rows that were refined.
    counts : mapping of str to int
        How many there are; how many of them were in the fit, and how many of these changed since; how many keep the
        scores that they came with, and how many have little evidence.
    left_out : int
        Rows that were left out, because their numbers are not all finite.
    total : int
        Rows of the whole table, as they are counted when all parts are checked.
    """

    keys: NDArray[np.str_]
    counts: Mapping[str, int]
    left_out: int
    total: int = 0


def refine_part(
    result: Refinement, table: Table, *, drop_invalid: bool, compared: bool
) -> tuple[dict[str, NDArray[Any]], RefinedPart]:
    """Check and refine a part of a table; return its columns, and what became of it.

    ``drop_invalid`` may leave nothing of it; `tell_left_out` says in the end how many rows it left out. Of a part that
    is ``compared``, all rows of the table are compared with the fitted ones together.
    """
    demand_same_classes(table.name, table.class_names, result.main)
    came, new = len(table), observed_as_fitted(result, table, drop_invalid=drop_invalid)
    refined = result.refine_later(new, compared=compared)
    columns = refined_columns(new, refined)
    rows, known = result.fitted_model.locate(new.keys)
    found = {
        "already_fitted": known,
        "changed": changed_rows(new, result.fitted_model.main, rows, known),
        "unmoved": np.all(refined.scores == new.scores, axis=tuple(range(1, new.scores.ndim))),
        "little_support": columns["support"] < LITTLE,
    }
    counts = {"rows": len(new), **{name: int(np.count_nonzero(each)) for name, each in found.items()}}
    return columns, RefinedPart(new.keys, counts, came - len(new))


def apply_here(
    result: Refinement, table: LaterTable, out: Path, *, drop_invalid: bool, escape: bool = False
) -> Iterator[RefinedPart]:
    """Refine a table window by window, in this process. The output appears when all of it is there."""
    total, read = table.open()
    # The parts of a table may differ, so all of them are compared with the fitted rows at once.
    compared = total > WINDOW
    with TableWriter(out, escape=escape, classes=read(0, 0).classes) as writer:

        def parts() -> Iterator[RefinedPart]:
            for first in range(0, max(total, 1), WINDOW):
                window = read(first, WINDOW)
                columns, part = refine_part(result, window, drop_invalid=drop_invalid, compared=compared)
                writer.add(columns)
                yield part

        yield from checked_parts(table, total, parts())
        if compared:
            compare_with_fitted(result, total, read, drop_invalid=drop_invalid)
        writer.finish()


def apply_on_engine(
    result: Refinement, table: LaterTable, drop_invalid: bool, out: Path, engine: str
) -> Iterator[RefinedPart]:
    """Refine a table on an engine. The folder of parts appears when all of them are there.

    Yields
    ------
    RefinedPart
        As soon as it is written.

    Raises
    ------
    InputError
        If the table cannot be read or used, or no scheduler answers.
    OutputError
        If the cluster is lost.
    """
    if not table.is_windowed:
        raise InputError(f"{table.given} cannot be read in parts; give a file or folder of Parquet, or an Arrow file.")
    # Workers may run in other folders.
    table = replace(table, given=os.path.abspath(table.given))
    total, read = table.open()
    compared = total > ROWS
    jobs = [(first, ROWS) for first in range(0, max(total, 1), ROWS)]
    with unfinished(out) as folder, cluster(engine, -1) as each:
        written = folder / "parts"
        written.mkdir()

        def parts() -> Iterator[RefinedPart]:
            for done in each(write_part, jobs, result, table, drop_invalid, compared, written):
                if isinstance(done, ManifuseError):
                    raise done
                part, said = done
                for warning in said:
                    pass_on(warning)
                yield part

        yield from checked_parts(table, total, parts())
        if compared:
            compare_with_fitted(result, total, read, drop_invalid=drop_invalid)
        with writing(out):
            written.replace(out)


def write_part(
    job: tuple[int, int], result: Refinement, table: LaterTable, drop_invalid: bool, compared: bool, folder: Path
) -> tuple[RefinedPart, list[ManifuseWarning]] | ManifuseError:
    """Refine rows on a worker, and write them as one file; return its warnings, too, or why they are refused.

    ``job`` is the first row of the part, and how many rows it has.
    """
    first, count = job
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, read = table.open()
            window = read(first, count)
            columns, part = refine_part(result, window, drop_invalid=drop_invalid, compared=compared)
        with writing(folder.parent):
            (folder / f"part-{first // count:06d}.parquet").write_bytes(table_bytes(".parquet", columns))
    except ManifuseError as error:
        # As a value, because Dask prints a traceback of what a job raises.
        return error
    return part, [each.message for each in caught if isinstance(each.message, ManifuseWarning)]


def check_folder(out: Path) -> None:
    """Refuse a name under which no folder of parts could be written.

    Raises
    ------
    InputError
        If it names a file, a folder that is not empty, or something in a folder that is not there.
    """
    check_place(out)
    if out.suffix:
        raise InputError(f"{out} ends in {out.suffix!r}, but an engine writes a folder of files; leave that out.")
    if os.path.lexists(out) and (os.path.islink(out) or not os.path.isdir(out) or os.listdir(out)):
        raise InputError(f"{out} is there and is not an empty folder; give another name.")


def checked_parts(table: LaterTable, total: int, parts: Iterable[RefinedPart]) -> Iterator[RefinedPart]:
    """Pass the parts of a table of ``total`` rows on; then say how many rows were left out.

    Raises
    ------
    InputError
        In the end, if ids occur in several parts. Their hashes have eight bytes, so two different ids are taken for
        one with a probability of 3e-6 among ten million rows.
    """
    name, hashes, left_out = Path(table.given).stem, [], 0
    for part in parts:
        hashes.append(hashes_of(part.keys))
        left_out += part.left_out
        yield replace(part, total=total)
    tell_left_out(name, left_out, total)
    every = np.sort(np.concatenate(hashes))
    twice = int(np.count_nonzero(every[1:] == every[:-1]))
    if twice:
        raise InputError(
            f"The id column of {name} has {many(twice, 'repeated value')}, but each row needs an id of its own; "
            "drop or rename the repeats."
        )


def compare_with_fitted(
    result: Refinement, total: int, read: Callable[[int, int], Table], *, drop_invalid: bool
) -> None:
    """Warn of rows that are unlike the fitted ones, by rows from everywhere in a table that was refined in parts."""
    if not result.accepted:
        return
    places = np.linspace(0, max(0, total - ROWS_OF_LOOK), LOOKS).astype(int).tolist()
    looked = [observed_as_fitted(result, read(first, ROWS_OF_LOOK), drop_invalid=drop_invalid) for first in places]
    rows = reduce(Observations.followed_by, looked)
    if len(rows):
        result.fitted_model.compare_with_fitted(rows)


def observed_as_fitted(result: Refinement, table: Table, *, drop_invalid: bool) -> Observations:
    """Observations of a part of a table, as the fitted ones are measured."""
    table = table.without_invalid() if drop_invalid else table
    return straightened_by(table.observed(drop=False, scale=result.main.scale), result.main.straightening)
