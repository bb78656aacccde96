"""Protocols, methods and rows: the paper's experiments."""
