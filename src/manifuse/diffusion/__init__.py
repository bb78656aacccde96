"""The paper: graphs, bridges and Algorithm 1."""
