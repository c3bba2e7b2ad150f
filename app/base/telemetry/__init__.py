"""Structured logs without secrets, counters for Prometheus, traces."""
