"""Which outcomes are favourable, and which groups are compared."""
