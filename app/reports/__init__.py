"""Documents for people as HTML and PDF."""
