"""The page of ``manifuse explore``: the browser solves the small problem, the server builds the bridges."""
