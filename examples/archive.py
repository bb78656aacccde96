"""
An archive of features (real data)
==================================

The images are gone. Several groups kept their features and the scores of rankers, from several times and different
images. This is the paper's case. The data are handwritten digits, and a ranker should recover the digit itself.

The digits are scikit-learn's, 1,797 images of 8 by 8 pixels. Six groups each have a view of them. All groups have 200
images in common; the last 200 of our own come later.
"""

# %%
# Six groups
# ----------
# Every group has its own features. Ours trained its ranker on 200 digits, the other five trained theirs on 200 others.

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf

digits = mf.datasets.load_digits("zernike", seed=1)


def part(rows):
    """Return the scores and features that we kept of some images."""
    main = digits.main
    return mf.Observations(
        main.scores[rows], main.table[rows], ids=main.keys[rows], name=main.name
    )


rows = np.arange(len(digits.main))
main, later = part(rows[:-200]), part(rows[-200:])
references = digits.references

# %%
# Without labels, and with 200
# ----------------------------
# Accuracy is the share of pairs of digits in the right order, on our images that are neither paired nor labelled.

results = {
    "no labels": mf.refine(main, references, rng=0),
    "200 labels": mf.refine(main, references, digits.labels, rng=0),
}


def accuracy(test, scores):
    """Return the share of pairs of some rows that their scores put in the right order."""
    truth = digits.truth[test]
    better, worse = np.nonzero(truth[:, None] > truth)
    return np.mean(scores[better] > scores[worse])


test = rows[400:-200]
alone = accuracy(test, main.scores[test])
print(f"alone      {alone:.3f}")
for name, result in results.items():
    print(f"{name:10s} {accuracy(test, result.predictions[test]):.3f}   {result.why}")

assert all(
    accuracy(test, result.predictions[test]) > alone + 0.02 for result in results.values()
)

# %%
# What each reference was worth
# -----------------------------

entries = results["200 labels"].relevance
figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
heights = np.arange(len(entries))
axes.barh(
    heights + 0.2,
    [entry.held_out_alignment for entry in entries],
    0.38,
    color="#0072b2",
    label="alignment",
)
axes.barh(
    heights - 0.2,
    [entry.fidelity for entry in entries],
    0.38,
    color="#e69f00",
    label="fidelity of the bridge",
)
axes.axvline(entries[0].chance_alignment, color="#d55e00", ls="--", label="chance")
axes.set_yticks(heights, [entry.name for entry in entries])
_ = axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# Images that come later
# ----------------------
# ``apply`` refines them without fitting again.

refined = results["200 labels"].apply(later)
print(
    f"{len(later)} later images: {accuracy(rows[-200:], later.scores):.3f} alone, "
    f"{accuracy(rows[-200:], refined):.3f} refined"
)
