"""The records and labels that a check reads."""
