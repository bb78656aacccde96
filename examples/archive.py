"""
An archive of features (real data)
==================================

The images are gone. Several groups kept features of them and the scores of rankers, made at several times and of
different images. This is the case of the paper: handwritten digits, where a ranker should recover the digit itself.

The digits are scikit-learn's, 1,797 images of 8 by 8 pixels. We make five views of them, give each to a group, and
split the rows so that all groups have 200 images in common.
"""

# %%
# Five groups
# -----------
# Every group has its own features. Ours trains its ranker on 200 digits, the other four train theirs on 200 others.

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.study.datasets.digits import digits
from manifuse.study.ranking.ranksvm import RankSVM

archive = digits()
order = np.random.default_rng(0).permutation(len(archive))
common, ours, theirs, our_training, their_training = np.split(order, [200, 700, 1300, 1500])


def observed(view, training, rows):
    """Return the scores and features that a group kept of some images."""
    features, truth = archive.tasks[view].features, archive.tasks[view].labels
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
    ranker = RankSVM(kernel="gaussian").fit(features[training], truth[training])
    return mf.Observations(ranker.predict(features[rows]), features[rows], ids=rows, name=view)


main = observed("fourier", our_training, np.concatenate([common, ours]))
references = [
    observed(view, their_training[:200], np.concatenate([common, theirs]))
    for view in ("profile", "karhunen", "zernike", "gradient")
]

# %%
# Without labels, and with 200
# ----------------------------
# Accuracy is the share of pairs of digits in the right order, on our 300 images that are neither paired nor labelled.

truth = archive.tasks["fourier"].labels[main.keys.astype(int)]
labelled = np.arange(200, 400)
labels = mf.RankLabels(main.keys[labelled], truth[labelled])
results = {
    "no labels": mf.refine(main, references, rng=0),
    "200 labels": mf.refine(main, references, labels, rng=0),
}
alone = ranking_accuracy(truth[400:], main.scores[400:])
print(f"alone      {alone:.3f}")
for name, result in results.items():
    print(
        f"{name:10s} {ranking_accuracy(truth[400:], result.predictions[400:]):.3f}   {result.reason}"
    )

assert all(
    ranking_accuracy(truth[400:], result.predictions[400:]) > alone + 0.02
    for result in results.values()
)

# %%
# What each reference was worth
# -----------------------------

entries = results["200 labels"].relevance
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
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
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# Images that come later
# ----------------------
# ``apply`` refines them without fitting again.

later = observed("fourier", our_training, their_training[200:])
later_truth = archive.tasks["fourier"].labels[later.keys.astype(int)]
refined = results["200 labels"].apply(later)
print(
    f"{len(later)} later images: {ranking_accuracy(later_truth, later.scores):.3f} alone, "
    f"{ranking_accuracy(later_truth, refined):.3f} refined"
)
