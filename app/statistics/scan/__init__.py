"""Subgroups that nobody listed, found by a scan over binned features."""
