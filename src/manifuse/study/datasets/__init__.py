"""Floor 3: data, each set in its own file."""
