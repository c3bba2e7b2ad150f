"""Pseudonyms for protected values."""
