"""Recommended monitors: which columns hold what fairness is asked about, and who would be compared with whom."""
