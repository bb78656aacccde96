"""The study: the paper's experiments, its data sets, rankers and rivals."""
