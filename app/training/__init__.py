"""The data a model was trained on: read once, counted, and measured before any model."""
