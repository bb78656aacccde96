"""
Scenes: references that predict other things (real data)
========================================================

Six rankers put photographs of landscapes and streets in order: how natural a scene is, how open, how much perspective
it has, and so on. We refine the ranker of *natural*. The references predict other attributes, of other photographs.
Do they help, and can they do harm?

This script reads the data set ``osr`` from the folder that the variable ``MANIFUSE_DATA`` names. It needs the
package ``manifuse-study``.
"""

# %%
# Without labels
# --------------
# The references do not predict what we predict. Their scores say so: no common factor explains them.

import manifuse as mf

scenes = mf.datasets.load("osr", "natural", labels=200)
unlabelled = mf.refine(scenes.main, scenes.references, rng=0)
print(unlabelled.summary())

# %%
# So our scores came back unchanged.

assert not unlabelled.accepted

# %%
# With labels
# -----------
# Labels say how the other attributes relate to ours: natural scenes have little perspective and few large objects. A
# reference in reverse order is as good as one in our order.

result = mf.refine(scenes.main, scenes.references, scenes.labels, rng=0)
print(result.summary())

# %%
# On photographs without a label
# ------------------------------

import matplotlib.pyplot as plt

found = {
    "alone": scenes.main.scores,
    "no labels": unlabelled.scores,
    "200 labels": result.scores,
}
accuracies = {name: scenes.accuracy(scores) for name, scores in found.items()}
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.barh(list(accuracies), accuracies.values(), color=["#8a8a8a", "#8a8a8a", "#0072b2"])
axes.set(xlim=(0.9, 1.0), xlabel="share of pairs in the right order")
axes.invert_yaxis()

# %%
# Which attributes helped
# -----------------------

mf.plot(result, "worth")

# %%
# So the references did no harm. Most of the gain comes from the labels; 200 labels can hardly tell how much the
# references add.

assert accuracies["200 labels"] > accuracies["alone"] + 0.01
