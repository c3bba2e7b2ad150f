"""Corrections of stored labels and predictions."""
