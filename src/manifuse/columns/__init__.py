"""Columns: what is known of every row, and the order in which columns are computed."""
