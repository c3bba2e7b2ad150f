"""Logged records and the model's answers to their copies."""
