"""The routes that log records, without a framework."""
