"""
Partners with few common ids (real data)
========================================

Two clinics score tumours. They measure different quantities of different patients, and only 60 patients were at both.
Clinic A has a weak model. Clinic B's model is better, but B gives away neither the model nor its records: A gets ids,
scores and principal components of B's patients. Can A improve the scores of its own patients?

The data are the 569 breast tumours that come with scikit-learn (Wisconsin diagnostic data). We split them in two.
"""

# %%
# Two tables
# ----------
# A measures texture, smoothness and the like; B measures sizes. Each trained a model on 20 patients of its own. These
# models and the comparison below use the labels; manifuse does not.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifuse as mf

tumours = load_breast_cancer()
malignant = 1 - tumours.target
columns = {
    "A": ["mean texture", "mean smoothness", "mean compactness", "mean concavity", "mean symmetry", "texture error"],
    "B": ["worst radius", "worst area", "worst perimeter", "worst concavity", "worst concave points", "worst texture"],
}
measured = {clinic: tumours.data[:, np.isin(tumours.feature_names, names)] for clinic, names in columns.items()}


def table(clinic, training, rows):
    """Return scores and features of some patients, as one clinic sees them."""
    features = measured[clinic]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(features[training], malignant[training])
    shown = make_pipeline(StandardScaler(), PCA(whiten=True, random_state=0)).fit_transform(features[rows])
    return mf.Observations(model.decision_function(features[rows]), shown, ids=rows, name=f"clinic {clinic}")


def draw(split):
    """Return both clinics' tables: 60 patients in common, 200 that only A has, 249 that only B has."""
    order = np.random.default_rng(split).permutation(len(malignant))
    common, ours, theirs, our_training, their_training = np.split(order, [60, 260, 509, 529])
    return (
        table("A", our_training, np.concatenate([common, ours])),
        table("B", their_training[:20], np.concatenate([common, theirs])),
    )


# %%
# Refine
# ------
# One call, and no labels. The relevance says what the partner is worth: how its scores align with ours on the common
# patients, what chance alone would give, and how well the bridge predicts its scores of patients held out of it.

main, reference = draw(0)
result = mf.refine(main, [reference], rng=0)
(partner,) = result.relevance
alignment, chance = partner.held_out_alignment, partner.chance_alignment
print(f"{partner.pairs} common patients; alignment {alignment:.2f}, chance {chance:.2f}")
print(f"fidelity of the bridge {partner.fidelity:.2f}; it reaches {partner.reached:.0%} of our patients")

# %%
# What it is worth
# ----------------
# The area under the ROC curve on the 200 patients that only A has, over ten random splits. Beside it is what one would
# do without manifuse: learn their score from our features on the common patients, predict it for the others, and take
# the average. With 60 pairs and a good partner, both are worth about the same. manifuse also says whether the partner
# can be trusted.

areas = {"alone": [], "impute and average": [], "refined": []}
for split in range(10):
    main, reference = draw(split)
    truth = malignant[main.keys.astype(int)]
    imputed = KNeighborsRegressor(10).fit(main.table[:60], reference.scores[:60]).predict(main.table)
    candidates = {
        "alone": main.scores,
        "impute and average": main.scores / main.scores.std() + imputed / imputed.std(),
        "refined": mf.refine(main, [reference], rng=split).predictions,
    }
    for name, scores in candidates.items():
        areas[name].append(roc_auc_score(truth[60:], scores[60:]))

means = {name: np.mean(values) for name, values in areas.items()}
for name, value in means.items():
    print(f"{name:20s} {value:.3f}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.plot(areas["alone"], areas["refined"], "o", color="#0072b2", label="refined")
axes.plot(areas["alone"], areas["impute and average"], "s", color="#d55e00", mfc="none", label="impute and average")
axes.axline((0.95, 0.95), slope=1, color="#8a8a8a", lw=1)
axes.set(xlabel="area under the curve, clinic A alone", ylabel="with clinic B's scores")
axes.legend(frameon=False)

assert means["refined"] > means["alone"] + 0.005
