"""``manifuse apply --engine``: the workers of a Dask cluster refine parts of a table, into a folder of files."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from manifuse.errors import InputError, ManifuseError, ManifuseWarning, pass_on
from manifuse.files import check_place, unfinished, writing
from manifuse.run.apply_part import RefinedPart, checked_parts, compare_with_fitted, refine_part
from manifuse.run.engine import cluster
from manifuse.run.refinement import Refinement
from manifuse.tables.output import table_bytes
from manifuse.tables.score_tables import WINDOW, LaterTable

#: Rows of a part.
ROWS = 4 * WINDOW


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
