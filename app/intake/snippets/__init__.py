"""Code that logs records, for people to copy."""
