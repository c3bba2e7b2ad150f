"""Checks, the workers that run them, and their measurements."""
