"""Charts: points in, Vega-Lite specifications and pictures out. Page, export and report draw from the same specification."""
