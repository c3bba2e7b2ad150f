"""Stored facts of the OpenScale face: only what its callers must find again and nothing else stores."""
