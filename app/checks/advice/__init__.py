"""Why a check or a deployment is in its state, and what to do next."""
