"""
Molecules: six descriptions, one property (real data)
=====================================================

Six partners predict how well a molecule dissolves in fat (log D, measured). Each describes its own molecules in its
own way: by fragments, by keys, by physical numbers. We refine the partner with physical numbers. This is a regression:
labels are measured values, and the refined scores are predictions in the same units.

This script reads the data set ``lipophilicity`` from the folder that the variable ``MANIFUSE_DATA`` names. It needs the
package ``manifuse-study``.
"""

# %%
# The tables
# ----------

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf

molecules = mf.datasets.load("lipophilicity", "desc2d", labels=200)
print(molecules.main, *molecules.references, sep="\n")

# %%
# Refine
# ------

method = mf.JointDiffusion(task="regression")
result = mf.refine(molecules.main, molecules.references, molecules.labels, method, rng=0)
print(result.summary())

# %%
# On molecules without a label, the error falls, and the intervals hold the truth nearly as often as they say.

truth, test = molecules.truth[molecules.test], molecules.test


def error(predictions):
    """Return the root mean squared error on test molecules."""
    return np.sqrt(np.mean((predictions[test] - truth) ** 2))


inside = np.abs(result.scores[test] - truth) < 1.645 * result.uncertainty[test]
print(f"error alone {error(molecules.main.scores):.3f}, refined {error(result.scores):.3f}")
print(f"{inside.mean():.0%} of the intervals of 90 % hold the truth")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
axes.plot(truth, molecules.main.scores[test], ".", color="#8a8a8a", ms=3, label="alone")
axes.plot(truth, result.scores[test], ".", color="#0072b2", ms=3, label="refined")
axes.axline((0, 0), slope=1, color="black", lw=0.8)
axes.set(xlabel="measured log D", ylabel="predicted log D")
axes.legend(frameon=False)

# %%
# Which partners matter
# ---------------------
# Hardly any: 200 measured values and our own features teach nearly all that the partners know. The whiskers of the bars
# cross zero. Over all six descriptions and ten splits, references are worth one point of ranking accuracy.

mf.plot(result, "worth")

# %%
# So the refinement was worth it.

assert error(result.scores) < error(molecules.main.scores) - 0.03
