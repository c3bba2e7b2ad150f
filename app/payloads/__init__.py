"""Payload formats, one module each: requests, answers and logged pairs, read and written. Checks no value against a schema."""
