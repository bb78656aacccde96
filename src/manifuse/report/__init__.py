"""The report of one refinement: its words, tables, figures and page, and what other pages share with it."""
