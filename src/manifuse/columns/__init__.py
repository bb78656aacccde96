"""Columns: what is known of every row, and the order in which one follows from the others."""
