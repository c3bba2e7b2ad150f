"""Everything that comes in."""
