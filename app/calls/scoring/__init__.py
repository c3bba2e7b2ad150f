"""Rows out, predictions back, in order. Stores nothing."""
