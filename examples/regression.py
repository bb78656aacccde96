"""
Regression (real data)
======================

Numbers instead of ranks: our model predicts the radius of the largest nuclei of a tumour from texture and shape, and
was trained on a dozen rows. Somebody else predicts the same from sizes, for other tumours.

The data are the 569 breast tumours that come with scikit-learn (Wisconsin diagnostic data). We split them in two.
"""

# %%
# Two predictors
# --------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifuse as mf

tumours = load_breast_cancer()
names = tumours.feature_names.tolist()
target = tumours.data[:, names.index("worst radius")]
sizes = ["mean radius", "mean texture", "mean perimeter", "mean area"]
shapes = [
    "radius error",
    "area error",
    *(n for n in names if n.startswith("mean") and n not in (*sizes[:1], *sizes[2:])),
]


def predicted(columns, training, rows, name):
    """Return the predictions of a linear model, and the features that it uses."""
    features = tumours.data[:, [names.index(column) for column in columns]]
    model = make_pipeline(StandardScaler(), Ridge()).fit(features[training], target[training])
    return mf.Observations(model.predict(features[rows]), features[rows], ids=rows, name=name)


# %%
# Refine, with labels that are values
# -----------------------------------
# With ``task="regression"``, labels measure the error instead of the order. The refinement is taken only if it gains
# at labels that were held out; otherwise the predictions come back unchanged. Sixty labels can mislead, but all six
# splits here are refined, and all get better.

method = mf.JointDiffusion(task="regression")
errors = []
for split in range(6):
    order = np.random.default_rng(split).permutation(len(target))
    common, ours, theirs, our_training, their_training = np.split(order, [100, 400, 540, 552])
    rows = np.concatenate([common, ours])
    main = predicted(shapes, our_training, rows, "ours")
    reference = predicted(sizes, their_training, np.concatenate([common, theirs]), "theirs")
    labelled, test = rows[-60:], slice(100, -60)
    result = mf.refine(
        main, [reference], mf.RankLabels(labelled, target[labelled]), method, rng=split
    )
    truth = target[rows[test]]
    errors.append(
        [
            root_mean_squared_error(truth, scores[test])
            for scores in (main.scores, result.predictions)
        ]
    )
    verdict = "taken" if result.accepted else "left alone"
    print(
        f"split {split}: error {errors[-1][0]:.2f} before, {errors[-1][1]:.2f} after, {verdict}"
    )

before, after = np.array(errors).T
print(f"mean: {before.mean():.2f} before, {after.mean():.2f} after")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot([0, 1], [before, after], "o-", color="#0072b2")
axes.set_xticks([0, 1], ["alone", "refined"])
axes.set(xlim=(-0.3, 1.3), ylabel="root mean squared error")

assert after.mean() < before.mean()
