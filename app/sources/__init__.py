"""Records as arrays, and where they lie."""
