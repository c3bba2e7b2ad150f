"""Pages of single records."""
