"""The page of a deployment."""
