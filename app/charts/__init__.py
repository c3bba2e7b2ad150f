"""Charts: points in, Vega-Lite specifications and pictures out. The page, the export and the report draw from the same one."""
