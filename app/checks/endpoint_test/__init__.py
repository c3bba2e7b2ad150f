"""A few records asked of an endpoint, before any check."""
