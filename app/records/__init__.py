"""Logged records as people look through them."""
