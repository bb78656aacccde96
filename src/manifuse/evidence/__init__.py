"""Evidence: what labels and references say."""
