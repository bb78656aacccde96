"""The report of one refinement: what is said of it, its pictures, its page, and what other pages share with it."""
