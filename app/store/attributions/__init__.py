"""Attributions: their queue, and what they have found."""
