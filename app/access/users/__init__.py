"""Users and their log-ins."""
