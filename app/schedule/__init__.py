"""Due checks, leases and the worker: every check on time, once."""
