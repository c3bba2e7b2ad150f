"""Pages that set a deployment up."""
