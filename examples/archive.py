"""
An archive of features (real data)
==================================

The images are gone; what was kept are features and the scores of rankers, made by several groups at several times, of
other images. This is the case of the paper: handwritten digits, where the truth that a ranker is to recover is the
digit itself.

The digits are scikit-learn's, 1,797 images of 8 by 8 pixels. We make four views of them, give each to a group, and cut
the rows so that 200 images are known to all.
"""

# %%
# Five groups
# -----------
# Every group trains a ranker on 200 digits of its own with its own features.

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf
from manifuse.study.datasets.digits import digits
from manifuse.study.ranking.accuracy import ranking_accuracy
from manifuse.study.ranking.ranksvm import RankSVM

archive = digits()
order = np.random.default_rng(0).permutation(len(archive))
common, ours, theirs, our_training, their_training = np.split(order, [200, 700, 1300, 1500])


def observed(view, training, rows):
    """Scores and features that a group kept of some images."""
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
# Accuracy is the share of pairs of digits in the right order, on our 300 images that no label was given of.

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
    print(f"{name:10s} {ranking_accuracy(truth[400:], result.predictions[400:]):.3f}   {result.reason}")

assert all(ranking_accuracy(truth[400:], result.predictions[400:]) > alone + 0.02 for result in results.values())

# %%
# What each reference was worth
# -----------------------------

entries = results["200 labels"].relevance
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
places = np.arange(len(entries))
axes.barh(places + 0.2, [entry.held_out_alignment for entry in entries], 0.38, color="#0072b2", label="alignment")
axes.barh(places - 0.2, [entry.fidelity for entry in entries], 0.38, color="#e69f00", label="fidelity of the bridge")
axes.axvline(entries[0].chance_alignment, color="#d55e00", ls="--", label="chance")
axes.set_yticks(places, [entry.name for entry in entries])
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

# %%
# Images that come later
# ----------------------
# They are refined without fitting again.

later = observed("fourier", our_training, their_training[200:])
later_truth = archive.tasks["fourier"].labels[later.keys.astype(int)]
refined = results["200 labels"].apply(later)
print(
    f"{len(later)} later images: {ranking_accuracy(later_truth, later.scores):.3f} alone, "
    f"{ranking_accuracy(later_truth, refined):.3f} refined"
)
