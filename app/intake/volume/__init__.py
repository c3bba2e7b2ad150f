"""Records as they come in by hour, and those that did not."""
