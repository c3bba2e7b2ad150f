"""Evidence over time: since when a figure is unfair, and how sure that is."""
