"""Mitigation on request."""
