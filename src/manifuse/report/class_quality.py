"""How good classes are on held-out labels, before and after: a table by class, the confusion, and the reliability."""

from typing import Any

import numpy as np

from manifuse.evidence.by_class import ByClass
from manifuse.evidence.gain import FEWEST_ROWS, Gain
from manifuse.grid import ABSENT, Grid
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.report.drawing import BLUE, GREY, LEGIBLE, ORANGE, SLIM_WIDTH, blank, heat_map, label

#: Names with more characters than this are not written below a figure.
LONG = 10


def by_class_grid(found: ByClass, gain: Gain) -> Grid:
    """How often each class is right before and after, and all of them; ``gain`` is that of all."""
    share = found.right
    lines = (
        (name, f"{count:,.0f}", *(_share(each[place]) for each in share), _change(found, place))
        for place, (name, count) in enumerate(zip(found.classes.names, found.labels, strict=True))
    )
    whole = np.trace(found.counts, axis1=1, axis2=2) / found.labels.sum()
    foot = ("all", f"{found.labels.sum():,.0f}", *map(_share, whole), gain.text(signed=True))
    return Grid(("class", "labels", "right before", "right after", "change, points"), tuple(lines), (foot,))


def most_confused(found: ByClass) -> IndexArray:
    """Places of the classes that a figure has room for: those that are confused most, in the order of the classes."""
    wrong = found.counts.sum(axis=0)
    np.fill_diagonal(wrong, 0.0)
    confused = wrong.sum(axis=0) + wrong.sum(axis=1)
    return np.sort(np.argsort(-confused, kind="stable")[:LEGIBLE])


def draw_confusion(found: ByClass, side: int) -> Any:
    """Draw how many labelled rows of each class are predicted to be of each: before (side 0) or after (side 1)."""
    shown, counts = most_confused(found), found.counts[side]
    names = [label(found.classes.names[place]) for place in shown]
    shares = counts / np.maximum(found.labels, 1.0)[:, None]
    figure, axes = blank(SLIM_WIDTH, 4.0)
    drawn = np.ix_(shown, shown)
    heat_map(axes, shares[drawn], np.where(counts[drawn] >= 0.5, counts[drawn], np.nan), "{:.0f}", 9)
    longest, below = max(map(len, names)), names
    if longest > LONG:
        # Long names have no room below; the numbers of their lines stand there.
        below = [str(number) for number in range(1, len(names) + 1)]
        names = [f"{number}: {name}" for name, number in zip(names, below, strict=True)]
    axes.set_xticks(range(len(names)), below, rotation=90 if 2 < longest <= LONG else 0, fontsize=8.5)
    axes.set_yticks(range(len(names)), names, fontsize=8.5)
    axes.set(xlabel="predicted class, " + ("before", "after")[side], ylabel="true class")
    return figure


def draw_reliability(reliability: FloatArray, said: str, so: str) -> Any:
    """Draw how often probabilities come true, before and after, with standard errors.

    Parameters
    ----------
    reliability : (2, b, 3) array
        See `ByClass`.
    said, so : str
        What the probabilities, and the shares of rows, are called.
    """
    figure, axes = blank(SLIM_WIDTH, 4.0)
    axes.plot([0, 1], [0, 1], color=GREY, lw=0.9, ls=":")
    looks = (("before", ORANGE, "s--"), ("after", BLUE, "o-"))
    for (name, colour, form), (mean, right, rows) in zip(looks, reliability.swapaxes(1, 2), strict=True):
        look = {"fmt": form, "color": colour, "ms": 5, "lw": 1.5, "elinewidth": 1.0, "capsize": 2}
        axes.errorbar(mean, right, _errors(right, rows), label=name, **look)
    # Risks may all be small.
    most = min(1.02, 1.25 * float(reliability[..., :2].max()))
    axes.set(xlim=(0, most), ylim=(0, most), xlabel=said, ylabel=so)
    axes.legend(loc="upper left", frameon=False)
    return figure


def _errors(right: FloatArray, rows: FloatArray) -> FloatArray:
    """Standard errors of shares (b,) of so many rows (b,); two more rows, one of them right, keep them above 0."""
    share = (right * rows + 1.0) / (rows + 2.0)
    return np.asarray(np.sqrt(share * (1.0 - share) / rows))


def _share(value: float) -> str:
    return f"{value:.1%}" if np.isfinite(value) else ABSENT


def _change(found: ByClass, place: int) -> str:
    """How much the share of right rows of a class changes, with its standard error; absent with few labels."""
    if found.labels[place] < FEWEST_ROWS:
        return ABSENT
    before, after = found.right[:, place]
    rows = int(found.labels[place])
    return Gain(float(after - before), float(found.errors[place]), rows, "class_accuracy").text(signed=True)
