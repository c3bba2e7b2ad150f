"""The data a model was trained on: counted, and measured before any model."""
