"""
Images: handwritten digits (real data)
======================================

Six rankers put images of handwritten digits in order, 0 below 1 below 2. Each looks at other features of other images.
We refine the one that looks at Fourier coefficients. The other five know only 200 of its 798 images.
"""

# %%
# The tables
# ----------
# Every table has ids, scores and features of its own. 200 of our images have a label.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import manifuse as mf

digits = mf.datasets.load_digits("fourier", labels=200)
print(digits.main, *digits.references, sep="\n")

# %%
# Refine, with labels and without
# -------------------------------
# The accuracy is the share of pairs of images that are in the right order, on images without a label.

result = mf.refine(digits.main, digits.references, digits.labels, rng=0)
unlabelled = mf.refine(digits.main, digits.references, rng=0)
found = {
    "alone": digits.main.scores,
    "refined, no labels": unlabelled.predictions,
    "refined, 200 labels": result.predictions,
}
accuracies = {name: digits.accuracy(scores) for name, scores in found.items()}
for name, accuracy in accuracies.items():
    print(f"{name:20s} {accuracy:.3f}")

# %%
# The images show the same. Each line has ten test images, evenly spaced from the lowest score to the highest.
# A perfect ranker would show the digits in order.

images, rows = load_digits().images, digits.main.keys.astype(int)
figure, lines = plt.subplots(3, 1, figsize=(5, 2.8), layout="constrained")
for axes, (name, scores) in zip(lines, found.items(), strict=True):
    order = digits.test[np.argsort(scores[digits.test])]
    shown = order[np.linspace(0, len(order) - 1, 10).astype(int)]
    axes.imshow(np.hstack([images[rows[row]] for row in shown]), cmap="binary")
    axes.set_title(f"{name}: {accuracies[name]:.1%}", loc="left", fontsize=10)
    axes.set_axis_off()

# %%
# Which partners matter
# ---------------------
# The bars show the loss without each reference, in points of accuracy. The references say nearly the same, so each is
# worth little, and all together are worth more.

print(result.summary())
mf.plot(result, "worth")

# %%
# What else could one do?
# -----------------------

for rival in ("smooth_alone", "learn_from_labels", "impute_and_stack"):
    scores = getattr(mf.rivals, rival)(digits.main, digits.references, digits.labels)
    print(f"{rival:20s} {digits.accuracy(scores):.3f}")

assert (
    accuracies["alone"] + 0.05
    < accuracies["refined, no labels"]
    < accuracies["refined, 200 labels"]
)
