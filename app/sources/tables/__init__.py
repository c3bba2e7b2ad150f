"""Records that lie in files, in the form of a check's window. Knows no model."""
