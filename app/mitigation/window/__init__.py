"""Mitigation in a check: what it would have changed in the window."""
