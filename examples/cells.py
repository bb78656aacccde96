"""
A single-cell bridge (simulated data)
=====================================

One laboratory measured gene expression (RNA), another measured accessible chromatin (ATAC) in other cells of the same
tissue. Both scored how far each cell has gone along a course of differentiation. A multi-ome assay measured both in
100 cells. The scores from RNA are noisy, and those from ATAC should improve them.

The cells are drawn at random. The tables look like AnnData: scores in ``obs``, coordinates in ``obsm``, and
``obs_names`` as ids. The command line reads such files as they are, if the score is a column ``score`` of ``obs``:
``manifuse refine rna.h5ad::X_pca --reference atac.h5ad::X_lsi --out refined.csv``.
"""

# %%
# Two annotated tables
# --------------------
# Cells lie on a branching course: a trunk that divides in two. The coordinates stand for principal components of
# expression, and for components of latent semantic indexing of chromatin.

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import manifuse as mf

rng = np.random.default_rng(1)
time = rng.uniform(0, 1, 1300)
branch = rng.choice([-1, 1], 1300)
positions = np.column_stack([time, branch * np.maximum(time - 0.4, 0)])


def measure(cells, width, key, noise):
    """Return what one assay measures of some cells, laid out like an AnnData object."""
    coordinates = np.tanh(
        positions[cells] @ rng.standard_normal((2, width)) + 0.3 * rng.standard_normal(width)
    )
    names = pd.Index([f"cell-{cell:04d}" for cell in cells])
    score = time[cells] + noise * rng.standard_normal(len(cells))
    return SimpleNamespace(
        obs_names=names,
        obs=pd.DataFrame({"course": score}, index=names),
        obsm={key: coordinates + 0.02 * rng.standard_normal(coordinates.shape)},
    )


multiome = np.arange(100)
rna = measure(
    np.concatenate([multiome, np.arange(100, 700)]), width=20, key="X_pca", noise=0.35
)
atac = measure(
    np.concatenate([multiome, np.arange(700, 1300)]), width=30, key="X_lsi", noise=0.1
)

# %%
# Refine
# ------
# Rows with equal names are the same cell. The refined score comes back as a series with the index of ``obs``.


def observe(table, key, name):
    """Return the observations in an annotated table."""
    return mf.Observations(table.obs["course"], table.obsm[key], ids=table.obs_names, name=name)


result = mf.refine(observe(rna, "X_pca", "RNA"), [observe(atac, "X_lsi", "ATAC")], rng=0)
rna.obs["refined"] = result.predictions
rna.obs["support"] = result.support
print(rna.obs.head())

before, after = (
    np.corrcoef(time[:700], rna.obs[column])[0, 1] for column in ("course", "refined")
)
print(f"correlation with the course: {before:.2f} before, {after:.2f} after")

figure, panels = plt.subplots(
    1, 2, figsize=(5, 3), sharex=True, sharey=True, layout="constrained"
)
for axes, column in zip(panels, ("course", "refined"), strict=True):
    values = rna.obs[column].rank()
    axes.scatter(*positions[:700].T, c=values, cmap="cividis", s=12)
    axes.set_title("as scored" if column == "course" else "refined", loc="left", fontsize=11)
    axes.set_axis_off()

assert after > before + 0.2
