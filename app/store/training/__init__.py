"""Training data and what was found in them."""
