"""Floor 3, its top: protocols that put datasets, rankers and methods together."""
