"""When checks are due, and the workers that perform them."""
