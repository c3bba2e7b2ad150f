"""Evidence of deployments over time."""
