"""API keys, their limits and their use."""
