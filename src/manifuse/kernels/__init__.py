"""Functions of arrays that import nothing else of ours."""
