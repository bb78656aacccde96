"""What ``manifuse refine`` is asked for: one dataclass, from which options, config keys and help follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

from typer import Argument, Option

#: An option of every command that prints a result.
AsJson = Annotated[bool, Option("--json", help="Print the result as one JSON object.")]
#: An option of every command that refines rows.
Strict = Annotated[
    bool, Option("--strict", help="End with status 3 if there was a warning, or if the scores are unchanged.")
]
#: What a command was given, by the names of `RefineOptions`.
GivenOptions = Mapping[str, Any]

#: The name of the backend that uses this machine's cores and memory.
HOST = "host"


@dataclass(frozen=True, kw_only=True)
class RefineOptions:
    """What one run of ``manifuse refine`` is asked for.

    A new option is a new field: of text, a path, a whole number, true or false, or a list of text. A field annotated
    with `typer.Option` is an option of the command line. Every field is a key of the config, with two exceptions:
    ``config``, and fields named as hyperparameters, which a config sets in its table ``[method]``. A field without a
    default must be given. Of those without an option, equal ``seed`` give equal results, and ``escape_formulas`` puts
    ' before text in CSV that a spreadsheet would run. ``method`` has the hyperparameters that the config sets, by
    their names in `JointDiffusion`.
    """

    main: Annotated[str, Argument(metavar="MAIN", help="The table to refine: id, score, features.")]
    reference: Annotated[list[str], Option(help="The table of another predictor; may be repeated.")] = field(
        default_factory=list
    )
    out: Annotated[Path, Option(help="The file to write the refined table to (required).")]
    labels: Annotated[Path | None, Option(help="Known labels: columns id and label, or better and worse.")] = None
    pairs: Annotated[Path | None, Option(help="Ids of the same things: columns main, reference (and table).")] = None
    id: Annotated[list[str], Option(help="A name of the id column; repeat it if tables have different ones.")] = field(
        default_factory=list
    )
    score: Annotated[list[str], Option(help="A name of the score column; may be repeated likewise.")] = field(
        default_factory=list
    )
    label: Annotated[list[str], Option(help="A name of the label column; it is no feature of other tables.")] = field(
        default_factory=list
    )
    drop: Annotated[list[str], Option(help="A column to leave out of all tables; may be repeated.")] = field(
        default_factory=list
    )
    features: Annotated[str | None, Option(help="Regular expression that feature names start with.")] = None
    classes: Annotated[
        str | None, Option(help="Regular expression of the columns of class probabilities, such as 'p_(.*)'.")
    ] = None
    task: Annotated[str | None, Option(help="What labels measure: ranking (the default) or regression.")] = None
    scale: Annotated[
        str | None, Option(help="What scores are: score (the default) or probability; of classes, logits.")
    ] = None
    save: Annotated[Path | None, Option(help="The file (.npz) to save to, for manifuse apply.")] = None
    backend: Annotated[str, Option(help="Where to compute: host (the default), cuda, cuda:1 or cpu (torch).")] = HOST
    report: Annotated[Path | None, Option(help="The page (.html) to write about the result and its reasons.")] = None
    seed: int = 0
    drop_invalid: Annotated[
        bool, Option("--drop-invalid/--keep-invalid", help="Drop rows with NaN or infinite values.")
    ] = False
    escape_formulas: bool = False
    same_target: Annotated[
        bool | None,
        Option(
            "--same-target/--ask-references",
            help="Assume that all predict the same thing, or demand that they show it.",
        ),
    ] = None
    config: Annotated[Path | None, Option(help="A TOML file of options; the command line overrules it.")] = None
    method: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Path | str]:
        """The tables and files that the run reads; a table may be ``FILE::FEATURES.npy``."""
        files = (self.main, *self.reference, self.labels, self.pairs, self.config)
        return [file for file in files if file is not None]

    @property
    def record(self) -> Path | None:
        """Where the record of the run goes; None if that is the config that was read, which is left as it is."""
        from manifuse.files import identity

        path = self.out.with_suffix(".run.toml")
        return None if self.config is not None and identity(path) == identity(self.config) else path


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that are fields of `RefineOptions`.

    The command's first parameter receives a dictionary of the options that were given on the command line.

    Parameters
    ----------
    *names : str
        Take only these fields; without names, take all.
    """
    hints = get_type_hints(RefineOptions, include_extras=True)
    options = {
        name: Annotated[hints[name].__origin__ | None, *hints[name].__metadata__]
        for name in names or hints
        if get_origin(hints[name]) is Annotated
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        _, *own = signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in options}
            command({name: value for name, value in given.items() if value is not None}, **values)

        taken = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint) for name, hint in options.items()
        ]
        run.__signature__ = Signature(  # type: ignore[attr-defined]
            [*taken, *(each.replace(kind=Parameter.KEYWORD_ONLY) for each in own)]
        )
        run.__annotations__ = {}
        return run

    return decorate
