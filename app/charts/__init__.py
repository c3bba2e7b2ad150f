"""Charts: points in, SVG out, for page, export and report."""
