"""REST v1."""
