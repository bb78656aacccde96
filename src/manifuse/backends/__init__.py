"""Backends: where neighbours are searched and edges are kept."""
