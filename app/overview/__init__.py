"""All deployments at a glance."""
