"""
Classifiers: halves of digits (real data)
=========================================

Two classifiers read handwritten digits. Ours sees the left half of each image, and has learned from 100 images only.
The other one sees the right half, and has learned from other images. It gives its probabilities for 150 images that
both know, and nothing else: we know neither its other images nor its answers for ours.
"""

# %%
# The tables
# ----------
# A classifier gives a matrix: the probability of every class, for every image. Both are logistic regressions.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import manifuse as mf

halves = mf.datasets.load_digit_halves(labels=100)
print(halves.main, *halves.references, halves.labels, sep="\n")

# %%
# Refine, with labels and without
# -------------------------------
# The accuracy is measured on images without a label that the other classifier does not know.

result = mf.refine(halves.main, halves.references, halves.labels, rng=0)
unlabelled = mf.refine(halves.main, halves.references, rng=0)
found = {
    "alone": halves.main.came,
    "refined, no labels": unlabelled.predictions,
    "refined, 100 labels": result.predictions,
}
accuracies = {name: halves.accuracy(probabilities) for name, probabilities in found.items()}
for name, accuracy in accuracies.items():
    print(f"{name:20s} {accuracy:.1%}")

# %%
# Which digits changed
# --------------------
# These ten test images changed class without a label, and are surest of the new one. Our classifier sees the left half,
# drawn dark; the right half is pale. Above is the class before and after, blue if it is right now.

before = halves.main.classes.most_probable(halves.main.came)
after = unlabelled.predicted
changed = halves.test[before[halves.test] != after[halves.test]]
surest = changed[np.argsort(-unlabelled.predictions[changed].max(axis=1))[:10]]
images = load_digits().images[halves.main.keys[surest].astype(int)]
figure, panels = plt.subplots(2, 5, figsize=(5, 3), layout="constrained")
for axes, image, row in zip(panels.flat, images, surest, strict=True):
    axes.imshow(image, cmap="binary")
    axes.axvspan(3.5, 7.5, color="white", alpha=0.7, lw=0)
    axes.axvline(3.5, color="#8a8a8a", lw=0.8)
    right = after[row] == halves.truth[row]
    axes.set_title(
        f"{before[row]} → {after[row]}", color="#0072b2" if right else "#d55e00", fontsize=11
    )
    axes.set_axis_off()

truth = halves.truth[changed]
rightly, wrongly = (int(np.sum(each[changed] == truth)) for each in (after, before))
print(f"{len(changed)} of {len(halves.test)} test images changed class.")
print(f"{rightly} are right now and were not; {wrongly} were right and are not any more.")

# %%
# Why one of them changed:

print(mf.explain(unlabelled, halves.main.keys[surest[0]], halves.references))

# %%
# How good, and how sure
# ----------------------
# Labels also calibrate the probabilities. The picture shows the labelled rows, each judged without its own label:
# classes are right about as often as their probabilities say.

mf.plot(result, "reliability")

# %%
# The test images, whose truth nobody used, check this. 100 labels are few: the refined classes are right more often
# than their probabilities say. Without labels nothing is calibrated.

places = halves.main.classes.places_of(halves.truth[halves.test])
for name, probabilities in found.items():
    there = probabilities[halves.test]
    loss = -np.log(there[np.arange(len(there)), places]).mean()
    sure, right = there.max(axis=1).mean(), np.mean(there.argmax(axis=1) == places)
    print(f"{name:20s} log loss {loss:.2f}; says {sure:.0%}, is right {right:.0%}")

# %%
# Which digit was taken for which, on the labelled rows:

mf.plot(result, "confusion_after")

# %%

print(result.summary())

assert (
    accuracies["alone"] + 0.05
    < accuracies["refined, no labels"]
    < accuracies["refined, 100 labels"]
)
assert rightly > 2 * wrongly
