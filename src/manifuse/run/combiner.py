"""PredictorCombiner: `refine` as a scikit-learn estimator."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from manifuse.errors import InputError, hear_warnings
from manifuse.evidence.rankings import GradedRanking
from manifuse.run.folds import demand_pairs_in_fold, warn_of_lost_pairs, with_pairs
from manifuse.run.method import JointDiffusion
from manifuse.run.method_parameters import MethodParameters
from manifuse.run.persistence import load, save
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse.run.truth import known_grades
from manifuse.tables.containers import demand_one_order
from manifuse.tables.frame_reading import is_frame
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.scales import Scale
from manifuse.tables.user_tables import FrameColumns


class PredictorCombiner(TransformerMixin, MethodParameters):  # type: ignore[misc]
    """Refine a predictor by references. It is fitted on one set of main rows and applies to further rows.

    The main rows come as `Observations`, or as a data frame with a column of ids, a column of scores and feature
    columns, which pipelines and cross-validation can split by rows. The known truth comes as `RankLabels`, or as ``y``
    with one number for every row, and NaN where the truth is not known.

    Parameters
    ----------
    references : Observations or data frame, or sequence of these
        Others' predictions. They are a parameter and not an argument of ``fit``, because they have their own rows and
        are the same in every fold. With known truth there need be none.
    method : JointDiffusion, optional
        The hyperparameters. Each is also a parameter of the combiner, such as ``method__diffusion__neighbours``.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        The ``rng`` of `refine`.
    id_column, score_column : str
        The names of the columns of ids and of scores, in all data frames. `Observations.from_frame` reads a reference
        with names of its own.
    drop : sequence of str
        Columns of data frames that are no features. One of the main rows or of a reference must have each.
    scale : {"score", "probability"}, optional
        What the main scores of data frames are; see `Observations`.
    pair_rows : data frame or Observations, optional
        Main rows that may pair with the references in every fit, such as the whole main table. Cross-validation takes
        rows away from ``fit``, and their pairs with them. Rows of this table whose ids a reference has stay, without
        their truth, which it need not have: their scores and features help to learn what the references say.

    Attributes
    ----------
    refinement_ : Refinement
        The whole result.
    n_features_in_ : int
        Number of columns of the fitted data frame, with ``id`` and ``score``.
    feature_names_in_ : array of str
        Their names.

    Examples
    --------
    A table of sixty rows, half of which have labels, and a reference on the same rows:

    >>> import numpy as np
    >>> import pandas as pd
    >>> import manifuse as mf
    >>> noise = np.random.default_rng(0)
    >>> truth, ids = np.arange(60.0), range(60)
    >>> ours = pd.DataFrame({"id": ids, "score": truth + 20 * noise.standard_normal(60)})
    >>> other = mf.Observations(truth + 5 * noise.standard_normal(60), ids=ids, name="other")
    >>> combiner = mf.PredictorCombiner([other], random_state=0).set_params(method__diffusion__rounds=5)
    >>> known = np.where(truth % 2, truth, np.nan)
    >>> combiner.set_output(transform="pandas").fit_transform(ours, known).columns.tolist()
    ['score']
    >>> bool(combiner.score(ours, truth) > 0.85)
    True
    """

    _column_parameters: ClassVar = {"id": "id_column", "score": "score_column"}
    _of_other: ClassVar = {"classes": "`class_columns` of a ClassifierCombiner"}

    def __init__(
        self,
        references: Any = (),
        method: JointDiffusion | None = None,
        random_state: Any = None,
        *,
        id_column: str = "id",
        score_column: str = "score",
        drop: Sequence[str] = (),
        scale: Scale | None = None,
        pair_rows: Any = None,
    ) -> None:
        self.references = references
        self.method = method
        self.random_state = random_state
        self.id_column = id_column
        self.score_column = score_column
        self.drop = drop
        self.scale = scale
        self.pair_rows = pair_rows

    def fit(self, X: Any, y: Any = None) -> Self:
        """Refine the predictions of ``X``, with the help of the known truth ``y``.

        Parameters
        ----------
        X : data frame or Observations
            The main predictor: ids, scores, and features unless all ids are common.
        y : (n,) array or series, or RankLabels or ClassLabels, optional
            Numbers, and NaN where the truth is not known. Of a `ClassifierCombiner`, names of classes and None.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the tables do not fit together, or X and y have one index in different orders; the message says what to
            do.
        """
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        if not isinstance(X, Observations):
            validate_data(self, X, skip_check_array=True)
        with hear_warnings() as heard, self._named_here():
            result = self._refine(X, y)
        self.refinement_ = replace(result, warnings=tuple(heard.values()))
        return self

    def _refine(self, X: Any, y: Any) -> Refinement:
        """Read what came, and refine it."""
        self._columns.demand_dropped(X, self.references, name="X")
        demand_one_order("X and y", X, y)
        main = self._observe(X)
        self._demand_kind(main)
        labels, references = self._labels(main, y), self._columns.observe_all(self.references)
        if self.pair_rows is None:
            demand_pairs_in_fold(main, references)
        else:
            main = with_pairs(main, self._observe(self.pair_rows, main, name="pair_rows"), references)
        state = self.random_state
        seed = state.randint(2**31) if isinstance(state, np.random.RandomState) else state
        return refine(main, references, labels=labels, method=self.method, rng=seed)

    def predict(self, X: Any) -> Any:
        """Refine the predictions of the rows of ``X``, fitted rows or new ones; see `Refinement.apply`.

        Parameters
        ----------
        X : data frame or Observations
            Columns are found by their names, in any order.

        Returns
        -------
        (n,) array
            For Observations, in the library of their predictions.

        Raises
        ------
        InputError
            If features of the fit are missing.
        """
        check_is_fitted(self)
        refined = self.refinement_.apply(self._later(X))
        return refined if isinstance(X, Observations) else np.asarray(refined)

    def decision_function(self, X: Any) -> Any:
        """Return the same as `predict`: larger means more likely the larger label.

        With it, scikit-learn's scorers of rankings, such as ``scoring="roc_auc"``, take a combiner whose truth is 0 or
        1 and known of every row, because they refuse NaN. `score`, the default of cross-validation, leaves out rows
        without a known truth, and of 0 and 1 it is the area under the ROC curve, too. Scorers that need classes or
        probabilities cannot take a combiner, because a refined score is neither.

        Parameters
        ----------
        X : data frame or Observations

        Returns
        -------
        (n,) array
        """
        return self.predict(X)

    def transform(self, X: Any) -> Any:
        """Return the same as `predict`, in the shape that the next step of a pipeline expects.

        Parameters
        ----------
        X : data frame or Observations

        Returns
        -------
        (n, 1) array
            A data frame if ``set_output`` asks for one. For Observations (n,), unless ``set_output`` asks for another.
        """
        refined = self.predict(X)
        return refined if isinstance(X, Observations) else refined[:, None]

    def score(self, X: Any, y: Any) -> float:
        """Compare the refined predictions of ``X`` with the truth ``y``; larger is better.

        Parameters
        ----------
        X : data frame or Observations
        y : (n,) array or series of numbers
            Rows where ``y`` is NaN do not count.

        Returns
        -------
        float
            The ranking accuracy, in [0, 1]; of 0 and 1 it is the area under the ROC curve. With ``task="regression"``,
            the coefficient of determination, at most 1.

        Raises
        ------
        InputError
            If ``y`` has another length than ``X``, or its known values are all equal.
        """
        demand_one_order("X and y", X, y)
        refined = np.asarray(self.predict(X))
        known, grades = known_grades(y, len(refined))
        if len(np.unique(grades)) < 2:
            raise InputError("The known values of y are all equal or missing; give at least two different ones.")
        if self.refinement_.method.is_regression:
            return float(r2_score(grades, refined[known]))
        return GradedRanking(known, grades).measured(refined[known])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the name of the one column of `transform`: ``score``."""
        del input_features
        return np.array(["score"], dtype=object)

    def save(self, path: Path | str) -> None:
        """Save the fitted refinement to a file, without pickling; see `save`."""
        check_is_fitted(self)
        save(self.refinement_, path)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Load a fitted combiner that can transform, and knows the names of columns, but no references; see `load`."""
        refinement = load(path)
        combiner = cls(method=refinement.method, random_state=refinement.seed, scale=refinement.main.scale)
        combiner._demand_kind(refinement.main)
        combiner.refinement_ = refinement
        columns = FrameColumns.like(refinement.main)
        named = {parameter: getattr(columns, name) for name, parameter in cls._column_parameters.items()}
        return combiner.set_params(**named, drop=columns.drop)

    def _observe(self, X: Any, fitted: Observations | None = None, *, name: str = "X") -> Observations:
        """Read main rows, if there was a fit by its features.

        Raises
        ------
        InputError
            If ``X`` is neither a data frame nor observations, a column is missing, or a feature is no number.
        """
        if not isinstance(X, Observations) and not is_frame(X):
            raise InputError(
                f"{type(X).__name__} came for {name}, but Observations or a data frame with ids, scores and features "
                "was expected; in a pipeline, call set_output(transform='pandas') on the earlier steps, which must "
                "leave ids and scores as they are (a ColumnTransformer with verbose_feature_names_out=False)."
            )
        return self._columns.observe(X, name=name, fitted=fitted)

    def _later(self, X: Any) -> Observations:
        """Read rows after the fit; warn of those that would have paired in it."""
        with self._named_here():
            rows, references = self._observe(X, self.refinement_.main), self._columns.observe_all(self.references)
        warn_of_lost_pairs(rows, self.refinement_.main, references)
        return rows

    @property
    def _columns(self) -> FrameColumns:
        """What the columns of data frames are called."""
        named = {name: getattr(self, parameter) for name, parameter in self._column_parameters.items()}
        return FrameColumns(**named, drop=self.drop, scale=self.scale)

    def _demand_kind(self, main: Observations) -> None:
        """Refuse what another combiner takes."""
        if main.classes is not None:
            raise InputError(f"{main.name} has classes, but one score a row was expected; use ClassifierCombiner.")

    def _labels(self, main: Observations, y: Any) -> RankLabels | ClassLabels | None:
        """Make labels of the truth that came, where it is known."""
        if y is None or isinstance(y, RankLabels):
            return y
        known, grades = known_grades(y, len(main))
        return RankLabels(main.keys[known], grades) if len(known) else None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Ids may be text. An array has no column names, so it cannot say which column has the scores.
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags
