"""Where alerts are sent to, and how they get there."""
