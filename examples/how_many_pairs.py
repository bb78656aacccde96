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
# Accuracy is measured on our rows that are never paired, in three random splits (thin lines) and on average.

import warnings

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf

counts = (5, 10, 20, 50, 100, 200)
method = mf.JointDiffusion(same_target=True)


def accuracies(split):
    """Return the accuracy alone, and refined with each number of pairs."""
    digits = mf.datasets.load_digits("fourier", labels=0, seed=split)
    references = [
        each for each in digits.references if each.name in ("profile", "karhunen", "gradient")
    ]
    found = [digits.accuracy(digits.main.scores)]
    for count in counts:
        # The 200 pairs come first. The references keep only some of them.
        kept = np.r_[:count, 200 : len(references[0])]
        tables = [
            mf.Observations(
                each.scores[kept], each.table[kept], ids=each.keys[kept], name=each.name
            )
            for each in references
        ]
        with warnings.catch_warnings():
            # The library warns of fewer than ten pairs; here we want to see their effect.
            warnings.simplefilter("ignore", mf.ManifuseWarning)
            result = mf.refine(digits.main, tables, method=method, rng=split)
        found.append(digits.accuracy(result.predictions))
    return found


splits = np.array([accuracies(split) for split in range(3)])
alone, *refined = splits.mean(axis=0)
print(f"alone      {alone:.3f}")
for count, accuracy in zip(counts, refined, strict=True):
    print(f"{count:3d} pairs  {accuracy:.3f}")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.semilogx(counts, splits[:, 1:].T, color="#56b4e9", lw=0.8)
axes.semilogx(counts, refined, "o-", color="#0072b2", label="refined, no labels")
axes.axhline(alone, color="#8a8a8a", ls="--", label="alone")
axes.set_xticks(counts, [str(count) for count in counts])
axes.minorticks_off()
axes.set(xlabel="pairs", ylabel="ranking accuracy")
axes.legend(frameon=False)

assert refined[-1] > alone + 0.03
