"""
Two clinics (real data)
=======================

Two clinics score tumours. They measure different things in different patients, and 100 tumours are known to both.
Clinic A's model is weak. Clinic B's is better, but B shares neither the model nor its records: A gets ids, scores and
ten numbers for each tumour. Can A improve the scores of its own patients?

The data are the 569 breast tumours that come with scikit-learn (Wisconsin diagnostic data), split in two.
"""

# %%
# Refine
# ------
# One call, and no labels. The summary says what the partner is worth: how its scores agree with ours on the common
# tumours, what chance alone would give, and how well its scores are predicted at tumours that were held out.

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf

clinics = mf.datasets.load_clinics()
main, references = clinics.main, clinics.references
result = mf.refine(main, references, rng=0)
print(result.summary())

# %%
# No labels came, so no gain was measured. With one partner, no worth can be measured either. The ids and scores of the
# common tumours alone are worth about as much as B's whole table.

(theirs,) = references
common = np.isin(theirs.keys, main.keys)
bare = mf.Observations(theirs.scores[common], ids=theirs.keys[common], name=theirs.name)
for name, scores in {
    "alone": main.scores,
    "refined": result.predictions,
    "refined, scores alone": mf.refine(main, [bare], rng=0).predictions,
}.items():
    print(f"{name:22s} {clinics.accuracy(scores):.3f}")

# %%
# What it is worth
# ----------------
# The area under the ROC curve on tumours that only A has, over ten random splits. Beside it is a way without
# manifuse: learn B's score from A's numbers on the common tumours, predict it for the others, and average.

areas = {"alone": [], "impute and average": [], "refined": []}
for split in range(10):
    clinics = mf.datasets.load_clinics(seed=split)
    given = clinics.main, clinics.references
    areas["alone"].append(clinics.accuracy(clinics.main.scores))
    areas["impute and average"].append(clinics.accuracy(mf.rivals.impute_and_average(*given)))
    areas["refined"].append(clinics.accuracy(mf.refine(*given, rng=0).predictions))

means = {name: np.mean(values) for name, values in areas.items()}
for name, value in means.items():
    print(f"{name:22s} {value:.3f}")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot(areas["alone"], areas["refined"], "o", color="#0072b2", label="refined")
axes.plot(
    areas["alone"],
    areas["impute and average"],
    "s",
    color="#d55e00",
    mfc="none",
    label="impute and average",
)
axes.axline((0.9, 0.9), slope=1, color="#8a8a8a", lw=1)
axes.set(xlabel="area under the curve, clinic A alone", ylabel="with clinic B's scores")
axes.legend(frameon=False)

assert means["refined"] > means["alone"] + 0.02
