"""Records as a monitor reads them: the outcome and the groups of each one. Knows no database and no HTTP."""
