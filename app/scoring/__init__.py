"""Rows out, predictions back, in order. Decides nothing about fairness and stores nothing."""
