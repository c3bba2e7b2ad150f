"""Alerts to people: rules, life of an alert, delivery."""
