"""Charts: points in, SVG out. Page, export and report draw the same shapes."""
