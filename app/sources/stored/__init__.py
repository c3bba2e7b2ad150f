"""Records in Postgres."""
