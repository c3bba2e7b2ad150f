"""A table of a database that Spark's own reader of JDBC reads: Spark quotes its names, compares its times and divides its rows."""

ROWS_A_PIECE = 1_000_000
"""Rows of a slice of time, where they are spread evenly: as many as the worker holds at a time."""

_UTC = frozenset({"UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z", "Universal"})
