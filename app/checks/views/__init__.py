"""The four views of a check, and its figures in words."""
