"""Counted hours, and the states that rest on them."""
