"""Commands that make or verify reports."""
