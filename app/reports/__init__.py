"""Documents for people: one check or a period as HTML, PDF, CSV and JSON."""
