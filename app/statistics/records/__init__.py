"""Metrics that read the records themselves: they cannot be rolled up."""
