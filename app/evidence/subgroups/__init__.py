"""Subgroups that nobody listed: scans of the last days, and groups watched from then on."""
