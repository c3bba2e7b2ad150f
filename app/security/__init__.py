"""From a header to a principal with permissions, and the secrets that are stored encrypted."""
