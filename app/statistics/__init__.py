"""Metrics, intervals and verdicts from tables of counts."""
