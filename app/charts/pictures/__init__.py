"""Points in, SVG out."""
