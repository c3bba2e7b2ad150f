"""Every deployment at a glance."""
