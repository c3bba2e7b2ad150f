"""Payload formats: requests, answers and logged pairs. Checks no value against a schema."""
