"""What joins several features over time, for pages and reports."""
