"""Calls of models that pass through here, and events about others."""
