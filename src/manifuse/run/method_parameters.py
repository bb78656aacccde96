"""Method parameters: hyperparameters of a method as parameters of an estimator of scikit-learn."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator

from manifuse.errors import InputError
from manifuse.grid import many
from manifuse.run.method import JointDiffusion, checked_method, parameters_of, with_parameters
from manifuse.tables.frame_reading import is_frame


class MethodParameters(BaseEstimator):  # type: ignore[misc]
    """An estimator whose parameter ``method`` is a `JointDiffusion` or None; its fields are parameters, too."""

    method: JointDiffusion | None

    #: What the parameters that name columns are called here, by the names that `FrameColumns` and messages use.
    _column_parameters: ClassVar[dict[str, str]]

    #: What to say of parameters in messages that only the other combiner has.
    _of_other: ClassVar[dict[str, str]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep``, also the hyperparameters as ``method__*``."""
        params: dict[str, Any] = super().get_params(deep=False)
        if deep:
            method = JointDiffusion() if self.method is None else self.method
            # Another type may have been set. Then `fit` refuses it, as scikit-learn demands.
            if isinstance(method, JointDiffusion):
                params |= {f"method__{name}": value for name, value in parameters_of(method).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; each ``method__*`` replaces one hyperparameter."""
        inner = {
            name.removeprefix("method__"): params.pop(name) for name in list(params) if name.startswith("method__")
        }
        super().set_params(**params)
        if inner:
            self.method = with_parameters(checked_method(self.method), inner)
        return self

    @contextmanager
    def _named_here(self) -> Iterator[None]:
        """Raise refusals of data frames with the names that their parameters have here."""
        called = {name: f"`{parameter}`" for name, parameter in self._column_parameters.items()} | self._of_other
        try:
            yield
        except InputError as error:
            sentence = re.sub(r"`(\w+)`", lambda named: called.get(named[1], named[0]), str(error))
            raise type(error)(sentence) from error.__cause__

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Name the parameters as scikit-learn does, but tables by their sizes: messages of errors show this."""
        shown = copy(self)
        for name in super().get_params(deep=False):
            setattr(shown, name, _without_values(getattr(self, name)))
        return str(super(MethodParameters, shown).__repr__(N_CHAR_MAX))


def _without_values(given: Any) -> Any:
    """Replace each data frame by its type and its number of rows, because its text shows the user's data."""
    if isinstance(given, list | tuple):
        return [_without_values(each) for each in given]
    return (
        f"{type(given).__name__} of {many(len(given), 'row')}"
        if is_frame(given) and hasattr(given, "__len__")
        else given
    )
