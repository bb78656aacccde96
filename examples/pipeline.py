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
# Our scores come from a poor model over Fourier features. Three references saw other digits through other features. We
# know the truth of every third row, and NaN stands for the others.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.study.datasets.digits import digits

numerals = digits()
order = np.random.default_rng(0).permutation(len(numerals))
common, ours, theirs, our_training, their_training = np.split(order, [200, 600, 1200, 1400])


def scored(view, training, rows):
    """Return the scores of a linear model, and the features that it uses."""
    features, truth = numerals.tasks[view].features, numerals.tasks[view].labels
    model = make_pipeline(StandardScaler(), Ridge(10.0)).fit(
        features[training], truth[training]
    )
    return model.predict(features[rows]), features[rows]


rows, other_rows = np.concatenate([common, ours]), np.concatenate([common, theirs])
scores, features = scored("fourier", our_training, rows)
X = pd.DataFrame(features).rename(columns="fourier{}".format).assign(id=rows, score=scores)
known = np.arange(len(rows)) % 3 == 0
y = np.where(known, numerals.tasks["fourier"].labels[rows], np.nan)
references = [
    mf.Observations(*scored(view, their_training, other_rows), ids=other_rows, name=view)
    for view in ("zernike", "gradient", "karhunen")
]

# %%
# The pipeline
# ------------
# Features are scaled; ids and scores pass through. Earlier steps must return data frames, hence ``set_output``.

scale = make_column_transformer(
    (StandardScaler(), make_column_selector("fourier")),
    remainder="passthrough",
    verbose_feature_names_out=False,
)
pipeline = Pipeline(
    [
        ("scale", scale.set_output(transform="pandas")),
        ("combine", mf.PredictorCombiner(references, random_state=0)),
    ]
)
pipeline

# %%
# Cross-validation
# ----------------
# In every fold the combiner is fitted with the known labels of the training rows, and refines the test rows as later
# rows. Its score is the ranking accuracy of those that are known; with ``method__task="regression"`` it is the
# coefficient of determination.

folds = KFold(3, shuffle=True, random_state=0)
refined = cross_val_score(pipeline, X, y, cv=folds)
tests = [test[known[test]] for _, test in folds.split(X)]
alone = [ranking_accuracy(y[test], scores[test]) for test in tests]
print(
    f"alone {np.mean(alone):.3f}, refined {refined.mean():.3f} (standard deviation {refined.std():.3f})"
)

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot([0, 1], [alone, refined], "o-", color="#0072b2")
axes.set_xticks([0, 1], ["alone", "refined"])
axes.set(xlim=(-0.3, 1.3), ylabel="accuracy on the test fold")

assert (refined > alone).all()

# %%
# Grid search
# -----------
# Every hyperparameter of :class:`~manifuse.JointDiffusion` is a parameter ``method__*``. Each candidate needs a fit of
# its own. The step size and the weight scale need no search: with labels, the method chooses them in one fit.

search = GridSearchCV(pipeline, {"combine__method__score_scale": [0.1, 1.0]}, cv=folds).fit(
    X, y
)
print(search.best_params_, f"{search.best_score_:.3f}")

# %%
# References are not passed to ``fit``. They have rows of their own, but scikit-learn might take them for metadata and
# split them with ``X``. ``set_output`` gives a data frame with one column:

pipeline.set_output(transform="pandas").fit(X, y).transform(X).head()
