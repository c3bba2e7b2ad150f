"""Counts of a window by group and outcome."""
