"""Rules that open an alert."""
