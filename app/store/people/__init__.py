"""Users, keys, log-ins, and the log of changes."""
