"""
In a scikit-learn pipeline (real data)
======================================

:class:`~manifuse.PredictorCombiner` takes a data frame with a column ``id``, a column ``score`` and features, so that
pipelines, cross-validation and grid searches can split it by rows. The references are the same in every fold, so they
are a parameter.

The data are the handwritten digits that come with scikit-learn.
"""

# %%
# The table
# ---------
# Our ranker sees Fourier features. Two references saw other digits through other features. We know the truth of every
# third row, and NaN stands for the others.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import manifuse as mf

digits = mf.datasets.load_digits("fourier", labels=0)
main, references = digits.main, list(digits.references)[:2]
X = pd.DataFrame(main.table).rename(columns="fourier{}".format)
X = X.assign(id=main.keys.astype(int), score=main.scores)
known = np.arange(len(X)) % 3 == 0
y = np.where(known, digits.truth, np.nan)

# %%
# The pipeline
# ------------
# Features are scaled; ids and scores pass through. The combiner needs a data frame, hence ``set_output``. A fold takes
# rows away from the fit, but rows of ``pair_rows`` that a reference knows stay pairs in every fit, without their
# truth. They must be scaled like the combiner's rows, so the features are scaled once, before the folds.

scale = make_column_transformer(
    (StandardScaler(), make_column_selector("fourier")),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
X = scale.set_output(transform="pandas").fit_transform(X)
combiner = mf.PredictorCombiner(references, random_state=0, pair_rows=X)
pipeline = Pipeline([("combine", combiner)])
pipeline

# %%
# Cross-validation
# ----------------
# In every fold the combiner is fitted with the known labels of the training rows, and refines the test rows as later
# rows. Its score is the ranking accuracy on test rows with a label; with ``method__task="regression"`` it is the
# coefficient of determination.

folds = KFold(3, shuffle=True, random_state=0)
refined = cross_val_score(pipeline, X, y, cv=folds)


def accuracy(test):
    """Return the share of known pairs of a fold that our scores put in the right order."""
    rows = test[known[test]]
    better, worse = np.nonzero(y[rows, None] > y[rows])
    return np.mean(main.scores[rows][better] > main.scores[rows][worse])


alone = [accuracy(test) for _, test in folds.split(X)]
print(
    f"alone {np.mean(alone):.3f}, refined {refined.mean():.3f} (standard deviation {refined.std():.3f})"
)

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot([0, 1], [alone, refined], "o-", color="#0072b2")
axes.set_xticks([0, 1], ["alone", "refined"])
axes.set(xlim=(-0.3, 1.3), ylabel="accuracy on the test fold")

assert (refined > alone).all()

# %%
# Grid search
# -----------
# Every hyperparameter of :class:`~manifuse.JointDiffusion` is a parameter ``method__*``, and those of its diffusion are
# ``method__diffusion__*``. Each candidate needs its own fit.

search = GridSearchCV(
    pipeline, {"combine__method__diffusion__score_scale": [0.1, 1.0]}, cv=2
).fit(X, y)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# References are not passed to ``fit``. They have rows of their own, but scikit-learn might take them for metadata and
# split them with ``X``. ``set_output`` gives a data frame with one column:

search.best_estimator_.set_output(transform="pandas").transform(X).head()
