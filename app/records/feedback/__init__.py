"""Ground-truth labels as people look through them."""
