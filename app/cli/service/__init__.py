"""Commands that start the processes of a service."""
