"""Files of records that others wrote, sent exactly once. Knows no database and no HTTP."""
