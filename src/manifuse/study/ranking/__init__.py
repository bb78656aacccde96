"""Floor 3: rankers that make scores from labels."""
