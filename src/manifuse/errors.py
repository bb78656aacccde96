"""What can go wrong, drawn as a tree.

- ManifuseError: catch this one to catch them all
    - InputError: the input cannot be used; the message says what came, what was expected, what to do
        - MissingExtraError: an optional dependency is needed; the message says how to install it
    - OutputError: results cannot be computed to the end, because the workers of a cluster are lost
- ManifuseWarning: the run goes on, but the user should know something
"""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from importlib import import_module
from inspect import currentframe
from types import ModuleType
from typing import TypeVar

Value = TypeVar("Value")


class ManifuseError(Exception):
    """The root of the errors that manifuse raises on purpose.

    Examples
    --------
    >>> import manifuse as mf
    >>> try:
    ...     mf.Algorithm1(neighbours=0)
    ... except mf.ManifuseError as error:
    ...     print(error)
    neighbours=0 came, but whole numbers from 1 to 1,000,000,000 were expected.
    """


class InputError(ManifuseError, ValueError):
    """Input or arguments that cannot be used.

    Also a ``ValueError``. The message says what came, what was expected and what to do.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Observations([0.1, 0.7, 0.4], ids=["a", "b", "b"], name="ours")
    Traceback (most recent call last):
        ...
    manifuse.errors.InputError: The id column of ours has 1 repeated value (first: 'b'), but each row needs an id of \
its own; drop or rename the repeats.
    """


class MissingExtraError(InputError):
    """An optional dependency is needed and not installed.

    The message has the command that installs it.

    Examples
    --------
    >>> import manifuse as mf
    >>> raise mf.MissingExtraError("A torch device needs torch; run: pip install 'manifuse[deep]'")
    Traceback (most recent call last):
        ...
    manifuse.errors.MissingExtraError: A torch device needs torch; run: pip install 'manifuse[deep]'
    """


class OutputError(ManifuseError):
    """Results that cannot be computed to the end, because the workers of a cluster are lost.

    Results that were written before are complete.
    """


class ManifuseWarning(UserWarning):
    """Something about the input that the user should know.

    Parameters
    ----------
    sentence : str
    code : str
        What it is about, in one word, for programs.

    Examples
    --------
    To refuse such input, turn the warning into an error:

    >>> import warnings
    >>> import manifuse as mf
    >>> ours = mf.Observations([0.1, 0.7, 0.4], ids=range(3), name="ours")
    >>> theirs = mf.Observations([0.2, 0.9, 0.3], ids=range(3), name="theirs")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mf.ManifuseWarning)
    ...     mf.refine(ours, [theirs])
    Traceback (most recent call last):
        ...
    manifuse.errors.ManifuseWarning: theirs shares only 3 ids with ours; fewer than 10 rarely help.
    """

    def __init__(self, sentence: str, code: str = "note") -> None:
        super().__init__(sentence)
        self.code = code


#: Where warnings are noted, too; see `hear_warnings`.
_heard: ContextVar[dict[str, ManifuseWarning] | None] = ContextVar("_heard", default=None)


def warn(code: str, sentence: str) -> None:
    """Give a `ManifuseWarning` of what the user should know; see `pass_on`."""
    pass_on(ManifuseWarning(sentence, code))


def pass_on(warning: Warning) -> None:
    """Give a warning that points to the line outside of this package that called it."""
    if isinstance(warning, ManifuseWarning) and (heard := _heard.get()) is not None:
        heard[str(warning)] = warning
    frame, depth = currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, depth = frame.f_back, depth + 1
    warnings.warn(warning, stacklevel=depth)


@contextmanager
def hear_warnings() -> Iterator[dict[str, ManifuseWarning]]:
    """Note which warnings this thread gives meanwhile. They are given all the same.

    Yields
    ------
    dict of ManifuseWarning
        Those that were given so far, by their sentences.
    """
    outer, heard = _heard.get(), dict[str, ManifuseWarning]()
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)
        if outer is not None:
            outer |= heard


def require(module: str, *, extra: str, purpose: str, of: str = "manifuse") -> ModuleType:
    """Import an optional dependency, or say how to get it.

    Parameters
    ----------
    module : str
        What to import.
    extra : str
        The extra that installs it.
    purpose : str
        What needs it, as the start of the sentence.
    of : str
        The distribution that has the extra.

    Raises
    ------
    MissingExtraError
        If the module is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {package}, which is not installed; run: pip install '{of}[{extra}]'"
        ) from error


def demand(kind: type, *values: object) -> None:
    """Refuse arguments of public functions that are not of type ``kind``.

    Raises
    ------
    InputError
        If one is of another type.
    """
    for value in values:
        if not isinstance(value, kind):
            make = "; make one with Observations.from_frame" if kind.__name__ == "Observations" else "; pass one"
            raise InputError(f"{type(value).__name__} came where {kind.__name__} was expected{make}.")


def look_up(name: str, entries: Mapping[str, Value], *, kind: str) -> Value:
    """Return the entry of this name, or refuse and suggest a similar name, if there is one.

    Parameters
    ----------
    name : str
    entries : mapping
        Not empty.
    kind : str
        What the entries are, for the message.

    Raises
    ------
    InputError
        If no entry has this name.

    Examples
    --------
    >>> look_up("two", {"one": 1, "two": 2}, kind="number")
    2
    """
    if name in entries:
        return entries[name]
    spelt = {key.lower(): key for key in entries}
    nearest = get_close_matches(str(name).lower(), spelt, n=1, cutoff=0.5)
    meant = f"; did you mean {spelt[nearest[0]]!r}?" if nearest else "."
    # A name with a comma would look like two.
    shown = ", ".join(repr(key) if "," in key else key for key in entries)
    raise InputError(f"There is no {kind} {name!r}{meant} There are: {shown}.")
