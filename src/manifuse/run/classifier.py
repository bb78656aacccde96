"""ClassifierCombiner: `refine` of class probabilities as a scikit-learn classifier."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.kernels.arrays import FloatArray
from manifuse.run.combiner import PredictorCombiner
from manifuse.run.method import JointDiffusion
from manifuse.run.truth import known_names, named_of, names_in_order
from manifuse.tables.classes import Classes
from manifuse.tables.containers import demand_one_order, to_text
from manifuse.tables.labels import ClassLabels
from manifuse.tables.observations import Observations
from manifuse.tables.scales import Scale


class ClassifierCombiner(ClassifierMixin, PredictorCombiner):  # type: ignore[misc]
    """Refine the class probabilities of a classifier by references.

    The main rows come as `Observations` with ``classes``, or as a data frame with a column of ids, a column for each
    class and feature columns. The known truth comes as `ClassLabels`, or as ``y`` with the name of a class for every
    row, and None or NaN where it is not known.

    Parameters
    ----------
    references, method, random_state, id_column, drop, pair_rows
        As of `PredictorCombiner`.
    class_columns : str, sequence of str, or mapping of str to str
        The columns of data frames with the probabilities of classes: a regular expression, their names, or a mapping
        of the column to the name of its class; as ``classes`` of `Observations.from_frame`.
    scale : {"probability", "logits"}, optional
        What the columns hold; see `Observations`.

    Attributes
    ----------
    refinement_ : Refinement
        The whole result.
    classes_ : (k,) array of str or int
        Names of the classes, in the order of the columns of `predict_proba`: sorted, as scikit-learn has them. They
        are numbers if all names are whole numbers and the truth has numbers, and else text.
    n_features_in_, feature_names_in_
        As of `PredictorCombiner`.

    Examples
    --------
    A weak classifier of digits, refined by one of other digits that sees the other half of each image:

    >>> import manifuse as mf
    >>> halves = mf.datasets.load_digit_halves(labels=100)
    >>> combiner = mf.ClassifierCombiner(halves.references, random_state=0).fit(halves.main, halves.labels)
    >>> combiner.predict_proba(halves.main).shape
    (899, 10)
    """

    _column_parameters: ClassVar = {"id": "id_column", "classes": "class_columns"}
    _of_other: ClassVar = {"score": "`score_column` of a PredictorCombiner"}

    def __init__(
        self,
        references: Any = (),
        method: JointDiffusion | None = None,
        random_state: Any = None,
        *,
        id_column: str = "id",
        class_columns: str | Sequence[str] | Mapping[str, str] = (),
        drop: Sequence[str] = (),
        scale: Scale | None = None,
        pair_rows: Any = None,
    ) -> None:
        super().__init__(references, method, random_state, id_column=id_column, drop=drop, pair_rows=pair_rows)
        self.class_columns = class_columns
        self.scale = scale

    @property
    def classes_(self) -> NDArray[Any]:
        """Names of the classes, sorted."""
        check_is_fitted(self, "refinement_")
        return names_in_order(self._classes, as_numbers=self.refinement_.provenance.has_numbers)

    def predict_proba(self, X: Any) -> FloatArray:
        """Refine the probabilities of the rows of ``X``, fitted rows or new ones; see `Refinement.apply`.

        Parameters
        ----------
        X : data frame or Observations

        Returns
        -------
        (n, k) array
            In the order of ``classes_``.

        Raises
        ------
        InputError
            If features of the fit are missing.
        """
        check_is_fitted(self, "refinement_")
        later = self._later(X)
        refined = self.refinement_.apply_in_full(later).scores
        assert later.classes is not None, "rows without classes are refused"
        return np.asarray(refined[:, later.classes.places_of(self.classes_)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the name of the most probable class of every row of ``X``."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def transform(self, X: Any) -> FloatArray:
        """Return the same as `predict_proba`, for the next step of a pipeline."""
        return self.predict_proba(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`, finite for 0, too; of two classes, the log-odds of the second."""
        logarithms = np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))
        return np.asarray(logarithms[:, 1] - logarithms[:, 0] if logarithms.shape[1] == 2 else logarithms)

    def score(self, X: Any, y: Any) -> float:
        """Return how often the class of ``X`` is right, in [0, 1]; rows whose class is not known do not count."""
        demand_one_order("X and y", X, y)
        known, values = known_names(y, len(X))
        if not len(known):
            raise InputError("The known classes of y are all missing; give at least one.")
        predicted = self.predict(X)[known]
        true = self._classes.places_of(to_text(values, what="y"))
        if (true < 0).all():
            known_ones = shorten(", ".join(map(str, self.classes_)))
            raise InputError(f"No class of y is one that was fitted ({known_ones}); name them alike.")
        return float(np.mean(self._classes.places_of(predicted) == true))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the classes."""
        del input_features
        return self.classes_.astype(str).astype(object)

    @property
    def _classes(self) -> Classes:
        classes = self.refinement_.main.classes
        assert classes is not None, "it was fitted with classes"
        return classes

    def _demand_kind(self, main: Observations) -> None:
        if main.classes is None:
            raise InputError(
                f"{main.name} has one score a row; give `class_columns` or Observations of classes, or use "
                "PredictorCombiner."
            )

    def _labels(self, main: Observations, y: Any) -> ClassLabels | None:
        if y is None or isinstance(y, ClassLabels):
            return y
        assert main.classes is not None, "its kind was asked for"
        known, values = known_names(y, len(main))
        return ClassLabels(main.keys[known], named_of(values, main.classes)) if len(known) else None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags
