"""Evidence of deployments over time: each hour's own records are counted once, and every comparison is followed."""
