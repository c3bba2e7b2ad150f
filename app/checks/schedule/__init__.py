"""Due checks, and the workers that perform them."""
