"""Rankers that make scores from labels."""
