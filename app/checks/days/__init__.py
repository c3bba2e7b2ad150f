"""Figures of past checks, and their sums over days."""
