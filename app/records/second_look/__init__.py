"""Records whose outcome would be another, for a second look."""
