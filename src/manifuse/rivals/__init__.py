"""Rivals: what else one can do with the same tables, with one interface, so that you can compare on your own data.

Each takes ``main``, ``references`` and ``labels`` as `refine` does, and returns predictions for the main rows. Larger
predictions are better in all of them; compare their order, as their units differ.

The result tables of the documentation compare the same functions, under the names self-smoothing, own labels, label
spreading, and impute and average. Only `impute_and_stack` is another there: the tables stack by a linear RankSVM, and
this one by a ridge regression.
"""

from manifuse.rivals.comparison import compare
from manifuse.rivals.methods import impute_and_average, impute_and_stack, learn_from_labels, smooth_alone, spread

__all__ = ["compare", "impute_and_average", "impute_and_stack", "learn_from_labels", "smooth_alone", "spread"]
