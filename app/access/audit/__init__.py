"""The log of requests and changes, as a chain."""
