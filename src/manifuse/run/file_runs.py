"""File runs: refine tables in files, which may be larger than memory, and write the refined table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.backends.backend import Backend
from manifuse.columns.refined_scores import refined_columns
from manifuse.errors import demand, hear_warnings
from manifuse.files import Writer, path_of
from manifuse.run.later_files import apply_here, observed_as_fitted
from manifuse.run.method import JointDiffusion, checked_method
from manifuse.run.provenance import Provenance
from manifuse.run.refine import refine, seed_of
from manifuse.run.refinement import Refinement
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.observations import Observations
from manifuse.tables.output import TableWriter, check_output
from manifuse.tables.paths import check_paths
from manifuse.tables.problem_files import Files, Tables
from manifuse.tables.score_tables import WINDOW
from manifuse.tables.table import Table


@dataclass(frozen=True, eq=False)
class RefinedFiles:
    """Tables in files, refined.

    Attributes
    ----------
    result : Refinement
        Of the rows that were read for the fit.
    table : Table
        The main table, whose features may be in files.
    references : list of Observations
        Their features may be in files, too.
    """

    result: Refinement
    table: Table
    references: list[Observations]

    def write(
        self,
        out: Path,
        beside: Mapping[Path, Writer] | None = None,
        *,
        escape: bool = False,
        tell: Callable[[int, int], None] = lambda done, total: None,
    ) -> int:
        """Write the refined table, and other files beside it; return the rows. ``tell`` is told how many are done."""
        with TableWriter(out, escape=escape, classes=self.table.classes) as writer:
            for part in self.parts():
                writer.add(part)
                tell(writer.rows, len(self.table))
            writer.finish(beside)
        return writer.rows

    def parts(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Columns of the refined table: at once if all rows were fitted, else window by window."""
        result, table = self.result, self.table
        if not result.is_sample:
            yield refined_columns(result.main, result.refined)
            return
        for first in range(0, len(table), WINDOW):
            rows = range(first, min(first + WINDOW, len(table)))
            part = observed_as_fitted(result, table.part(rows), drop_invalid=False)
            # The fitted rows were drawn from this table.
            yield refined_columns(part, result.refine_later(part, compared=True))


def run_files(
    files: Files,
    method: JointDiffusion,
    seed: int,
    backend: Backend | None = None,
    announce: Callable[[Tables], None] = lambda tables: None,
) -> RefinedFiles:
    """Read and refine the tables of files; ``announce`` gets what was read.

    Of large tables, only the features of the rows that are fitted are read.
    """
    with hear_warnings() as heard:
        tables = files.read()
        announce(tables)
        main, references = tables.observed(method.fitted_rows)
        result = refine(main, references, tables.labels, method, seed, backend=backend)
    result = replace(result, provenance=Provenance.of_files(tables), warnings=tuple(heard.values()))
    return RefinedFiles(result, tables.main, references)


def refine_files(
    main: Path | str,
    references: Path | str | Sequence[Path | str] = (),
    labels: Path | str | None = None,
    method: JointDiffusion | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    out: Path | str,
    pairs: Path | str | None = None,
    id: str | Sequence[str] = (),  # noqa: A002
    score: str | Sequence[str] = (),
    label: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    features: str | None = None,
    classes: str | None = None,
    scale: str | None = None,
    drop_invalid: bool = False,
    escape_formulas: bool = False,
    backend: Backend | None = None,
) -> Refinement:
    """Refine tables in files, which may be larger than memory, as the command ``manifuse refine`` does.

    Parameters
    ----------
    main : path-like
        The main table: CSV, Parquet, Arrow, JSON lines, ``.npz``, ``.h5ad``, or a folder of Parquet files.
    references : path-like, or sequence of path-like
        The references, likewise.
    labels : path-like, optional
        A file with the columns ``id`` and ``label``, and optionally ``group``; or ``better`` and ``worse``.
    method, rng, backend
        As of `refine`.
    out : path-like
        The file for the refined table. It is written completely or not at all.
    pairs : path-like, optional
        A file of ids of the same things: columns ``main``, ``reference`` and, with several references, ``table``.
    id, score, label, drop : str or sequence of str
        Names of the columns of ids, of scores and of labels, and of columns to leave out.
    features : str, optional
        Regular expression that names of features start with.
    classes : str, optional
        Regular expression that matches the columns with probabilities of classes. Its group is the class's name, as in
        ``"p_(.*)"``.
    scale : {"score", "probability", "logits"}, optional
        What main scores are, and those of classes in all tables; see `Observations`.
    drop_invalid : bool
        Whether rows with values that are not finite are dropped.
    escape_formulas : bool
        Whether CSV has an apostrophe before text that a spreadsheet would run.

    Returns
    -------
    Refinement
        Of the rows that were fitted.

    Raises
    ------
    InputError
        If a file cannot be read or written, or its content cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, polars as pl
    >>> import manifuse as mf
    >>> noise, truth = np.random.default_rng(0), np.arange(20.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, width in (("ours", 6.0), ("theirs", 1.0)):
    ...         scores = truth + width * noise.standard_normal(20)
    ...         pl.DataFrame({"id": range(20), "score": scores}).write_parquet(f"{folder}/{name}.parquet")
    ...     out = Path(folder) / "refined.parquet"
    ...     result = mf.refine_files(f"{folder}/ours.parquet", [f"{folder}/theirs.parquet"], rng=0, out=out)
    ...     pl.read_parquet(out).columns
    ['id', 'score', 'original', 'support']
    """
    method = checked_method(method)
    _demand_patterns(features, classes)
    out = Path(path_of(out))
    files = Files(
        main=path_of(main),
        references=tuple(map(path_of, _one_or_more(references))),
        labels=None if labels is None else Path(path_of(labels)),
        pairs=None if pairs is None else Path(path_of(pairs)),
        columns=ColumnNames(_one_or_more(id), _one_or_more(score), _one_or_more(label), _one_or_more(drop), classes),
        features=features,
        scale=scale,
        drop_invalid=drop_invalid,
    )
    check_output(out)
    read = [path for path in (files.main, *files.references, files.labels, files.pairs) if path is not None]
    check_paths(read=read, written=(out,))
    found = run_files(files, method, seed_of(rng), backend)
    found.write(out, escape=escape_formulas)
    return found.result


def apply_files(
    result: Refinement,
    new: Path | str,
    out: Path | str,
    *,
    id: str | Sequence[str] = (),  # noqa: A002
    score: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    features: str | None = None,
    classes: str | None = None,
    drop_invalid: bool = False,
    escape_formulas: bool = False,
) -> int:
    """Refine later rows that are in files, window by window, as the command ``manifuse apply`` does.

    Parameters
    ----------
    result : Refinement
    new : path-like
        The later rows.
    out, id, score, drop, features, classes, drop_invalid, escape_formulas
        As of `refine_files`. Names of columns that are not given are those of the main table, if it was in a file.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    InputError
        If a file cannot be read or written, or the new rows lack features of the fitted ones.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> import manifuse as mf
    >>> clinics = mf.datasets.load_clinics()
    >>> result = mf.refine(clinics.main, clinics.references, rng=0)
    >>> columns = dict(zip(clinics.main.feature_names, clinics.main.table.T))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ids = [f"later {row}" for row in range(259)]
    ...     later = pl.DataFrame({"id": ids, "score": clinics.main.scores, **columns})
    ...     later.write_parquet(f"{folder}/later.parquet")
    ...     mf.apply_files(result, f"{folder}/later.parquet", f"{folder}/refined.parquet")
    259
    """
    demand(Refinement, result)
    _demand_patterns(features, classes)
    new, out = path_of(new), Path(path_of(out))
    check_output(out)
    check_paths(read=(new,), written=(out,))
    named = {"id": _one_or_more(id), "score": _one_or_more(score), "drop": _one_or_more(drop)}
    fitted = result.fitted_model.main
    table = result.provenance.table_of_later(new, fitted, **named, features=features, classes=classes)
    parts = apply_here(result, table, out, drop_invalid=drop_invalid, escape=escape_formulas)
    return sum(len(part.keys) for part in parts)


def _one_or_more(given: Any) -> tuple[Any, ...]:
    """Return names or paths as a tuple; one by itself becomes a tuple of one."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _demand_patterns(*patterns: str | None) -> None:
    demand(str, *(each for each in patterns if each is not None))
