"""On time, once: due checks, leases, the worker."""
