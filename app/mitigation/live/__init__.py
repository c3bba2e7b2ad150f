"""Mitigation on request: live records in, debiased answers out."""
