"""Floor 3: what the method is to be compared with."""
