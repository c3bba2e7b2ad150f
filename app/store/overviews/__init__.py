"""Every deployment and the whole service at a glance."""
