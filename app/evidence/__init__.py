"""Since when a figure is unfair, and how sure that is."""
