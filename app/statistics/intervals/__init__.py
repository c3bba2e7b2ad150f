"""Intervals and verdicts: how sure a figure is."""
