"""One process that claims work."""
