"""Division of a gap between two groups among the features and cells that carry it."""
