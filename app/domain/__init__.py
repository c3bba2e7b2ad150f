"""Words that several features share. Standard library only; no I/O, no clock."""
