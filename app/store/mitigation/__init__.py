"""Settings of mitigation, and everything that is fitted for it."""
