"""A real Postgres of our own, for one machine. Does not know the tables."""
