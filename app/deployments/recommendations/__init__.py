"""Recommended monitors: the columns that fairness is asked about, and the groups to compare."""
