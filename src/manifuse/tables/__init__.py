"""What comes in: tables of scores, labels, files of columns, and how rows are paired."""
