"""The paper: tables, bridges, Algorithm 1, and rows that come later."""
