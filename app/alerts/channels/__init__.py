"""Receivers of alerts, and the delivery to them."""
