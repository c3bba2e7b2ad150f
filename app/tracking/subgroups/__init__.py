"""Subgroups that nobody listed: scans of the last days, and groups that are watched from then on."""
