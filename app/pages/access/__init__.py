"""Pages of log-ins, settings and activities."""
