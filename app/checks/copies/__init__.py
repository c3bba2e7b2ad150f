"""Copies of records with the values of other groups, and the answers of the model to them."""
