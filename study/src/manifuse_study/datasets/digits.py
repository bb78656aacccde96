"""Optical digits: 1,797 images of 8 x 8 pixels that come with scikit-learn, in the six views of `digit_views`.

A ranker has to recover the digit itself, 0 below 1 below 2 and so on, as in the paper's experiment on handwritten
digits (HW).
"""

from __future__ import annotations

from pathlib import Path

from manifuse.datasets.digit_views import digit_views
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.datasets.source import Contents, Form, Source
from manifuse_study.datasets.views import view_tasks


def digits() -> Dataset:
    """Load the digits and compute their views."""
    return DIGITS.load(Path())


def read(folder: Path, form: Form) -> Contents:
    """Compute the views; scikit-learn has the images, so nothing is read from the data folder."""
    del folder, form
    return Contents(view_tasks(*digit_views()))


DIGITS = Source(
    name="digits",
    title="Optical digits of scikit-learn",
    summary="10 digits; 6 views of our own as tasks",
    owner="scikit-learn, which contains it",
    citation="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository",
    forms=(),
    read=read,
)
