"""Subgroups that nobody listed: scans of the last days, and candidates that later hours confirm."""
