"""Subgroups that nobody listed: scans, candidates, and the hours of candidates."""
