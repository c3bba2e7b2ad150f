"""Calls to addresses that users name: models and receivers of alerts. Does not read what is sent or answered."""
