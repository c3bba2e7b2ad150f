"""Views for people: the overview, series, the four views of a check, transactions. Reads the store, writes nothing."""
