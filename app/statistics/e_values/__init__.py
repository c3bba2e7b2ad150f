"""Evidence that accumulates over the hours, with a bound on false alarms."""
