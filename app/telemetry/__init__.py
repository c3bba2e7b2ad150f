"""Structured logs without secrets, and counters for Prometheus."""
