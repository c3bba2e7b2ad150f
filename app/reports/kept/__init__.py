"""Schedules of reports, and what they made."""
