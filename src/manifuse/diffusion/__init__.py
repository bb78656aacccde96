"""Floor 1: the nouns of the paper."""
