"""Documents for people as HTML, PDF and JSON."""
