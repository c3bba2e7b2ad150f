"""Mitigation in a check."""
