"""Subgroups that nobody listed: scans and their results."""
