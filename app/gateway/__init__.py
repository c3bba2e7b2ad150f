"""Calls of models that pass through here, and events about calls that do not: answered at once, kept on disk, stored as payload."""
