"""What the method is compared with: one rival per file."""
