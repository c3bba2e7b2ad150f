"""Kept reports: schedules, the queue, and the files."""
