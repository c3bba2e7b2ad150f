"""Alerts, their rules, and the channels they are sent to."""
