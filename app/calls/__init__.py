"""Calls to addresses that users name: models and receivers of alerts."""
