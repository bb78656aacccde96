"""
How many pairs? (real data)
===========================

A refinement needs rows that are known on both sides. This script varies their number and nothing else. The data are the
handwritten digits that come with scikit-learn. The main predictor uses Fourier features. Three references saw other
digits through other features. There are no labels. All of them rank digits, and ``same_target=True`` says so.
"""

# %%
# One predictor, more and more pairs
# ----------------------------------
# Accuracy is measured on 400 of our rows that are never paired, in four random splits (thin lines) and on average.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.study.datasets.digits import digits
from manifuse.study.ranking.ranksvm import RankSVM

archive = digits()
counts = (5, 10, 20, 30, 50, 100, 200)


def accuracies(split):
    """Return the accuracy alone, and refined with each number of pairs."""
    order = np.random.default_rng(split).permutation(len(archive))
    common, ours, theirs, our_training, their_training = np.split(order, [200, 600, 1200, 1400])

    def scored(view, training):
        features, truth = archive.tasks[view].features, archive.tasks[view].labels
        features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
        ranker = RankSVM(kernel="gaussian").fit(features[training], truth[training])
        return lambda rows: mf.Observations(
            ranker.predict(features[rows]), features[rows], ids=rows, name=view
        )

    main = scored("fourier", our_training)
    references = [
        scored(view, their_training[:200]) for view in ("profile", "karhunen", "gradient")
    ]
    truth = archive.tasks["fourier"].labels[ours]
    found = [ranking_accuracy(truth, main(ours).scores)]
    for count in counts:
        paired = common[:count]
        tables = [reference(np.concatenate([paired, theirs])) for reference in references]
        with warnings.catch_warnings():
            # The library warns of fewer than ten pairs; here we want to see what they do.
            warnings.simplefilter("ignore", mf.ManifuseWarning)
            known = mf.JointDiffusion(same_target=True)
            result = mf.refine(
                main(np.concatenate([paired, ours])), tables, method=known, rng=split
            )
        found.append(ranking_accuracy(truth, result.predictions[count:]))
    return found


splits = np.array([accuracies(split) for split in range(4)])
alone, *refined = splits.mean(axis=0)
print(f"alone      {alone:.3f}")
for count, accuracy in zip(counts, refined, strict=True):
    print(f"{count:3d} pairs  {accuracy:.3f}")

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.semilogx(counts, splits[:, 1:].T, color="#56b4e9", lw=0.8)
axes.semilogx(counts, refined, "o-", color="#0072b2", label="refined, no labels")
axes.axhline(alone, color="#8a8a8a", ls="--", label="alone")
axes.set_xticks(counts, [str(count) for count in counts])
axes.minorticks_off()
axes.set(xlabel="pairs", ylabel="ranking accuracy")
axes.legend(frameon=False)

assert refined[-1] > alone + 0.03
