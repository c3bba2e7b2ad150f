"""Metrics as functions of arrays; leading axes hold draws and groups."""
