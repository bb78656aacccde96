"""The page of ``manifuse explore``: what `refine` gives, and what becomes of it without a reference."""
