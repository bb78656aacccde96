"""What users call: `refine`, its result, rows that come later, files and the scikit-learn estimator."""
