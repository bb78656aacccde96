"""
A panel of judges (simulated data)
==================================

A cheap judge rates 400 answers of a language model. Four other judges have rated answers too, but to other prompts,
and each judge's pipeline keeps another kind of embedding. All judges rated 120 answers in common. One of the four is
bought: its ratings have nothing to do with quality. Which judges help, and which should count little?

All data are drawn at random with a known truth, to show what manifuse reports. They say nothing about how good real
judges are.
"""

# %%
# The panel
# ---------
# Answers differ in three hidden properties. Quality is a combination of two of them; embeddings are smooth functions
# of all three.

import matplotlib.pyplot as plt
import numpy as np

import manifuse as mf

rng = np.random.default_rng(4)
answers = rng.uniform(-1, 1, (2000, 3))
quality = answers @ [1.0, 0.6, 0.0]


def judge(name, rows, noise, opinion=quality):
    """Return ratings of some answers, and their embeddings in this judge's pipeline."""
    ratings = opinion[rows] + noise * rng.standard_normal(len(rows))
    embeddings = np.tanh(answers[rows] @ rng.standard_normal((3, 16)))
    return mf.Observations(ratings, embeddings, ids=rows, name=name)


common = np.arange(120)
cheap = judge("cheap", np.concatenate([common, np.arange(120, 400)]), noise=0.9)
elsewhere = [np.concatenate([common, np.arange(400 * k, 400 * (k + 1))]) for k in range(1, 5)]
panel = [
    judge("careful", elsewhere[0], noise=0.2),
    judge("fair", elsewhere[1], noise=0.5),
    judge("hasty", elsewhere[2], noise=1.0),
    judge("bought", elsewhere[3], noise=0.3, opinion=answers[:, 2]),
]

# %%
# Refine the cheap judge
# ----------------------
# No label is used. The ratings share one common factor, quality, so every judge counts as much as its ratings of the
# common answers follow that factor. The bought judge hardly follows it.

result = mf.refine(cheap, panel, rng=0)
print(result.why)
for entry in result.relevance:
    print(
        f"{entry.name:8s} alignment on the common answers {entry.held_out_alignment:5.2f}, "
        f"chance {entry.chance_alignment:.2f}, weight {entry.weight:.2f}"
    )
before, after = (
    np.corrcoef(quality[:400], ratings)[0, 1] for ratings in (cheap.scores, result.predictions)
)
print(f"correlation with the quality: {before:.2f} before, {after:.2f} after")

figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
names = [entry.name for entry in result.relevance]
axes.bar(
    names,
    [abs(entry.held_out_alignment) for entry in result.relevance],
    color="#0072b2",
    width=0.6,
)
axes.axhline(
    max(entry.chance_alignment for entry in result.relevance),
    color="#d55e00",
    ls="--",
    label="chance",
)
axes.set_ylabel("alignment with the cheap judge")
axes.legend(frameon=False)

assert after > before + 0.2
careful, *_, bought = (entry.weight for entry in result.relevance)
assert bought < 0.2 < 0.6 < careful
