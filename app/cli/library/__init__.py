"""Commands that measure files, without a service."""
