"""Records and labels, from a body to a durable write."""
