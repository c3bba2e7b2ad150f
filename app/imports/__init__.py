"""Files of records that others wrote: read row by row, sent in batches, exactly once. Knows no database and no HTTP."""
