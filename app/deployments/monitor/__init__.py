"""Fairness monitors: the favourable outcomes and the compared groups."""
