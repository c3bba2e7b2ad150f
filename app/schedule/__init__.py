"""Due checks, leases and the worker."""
