"""REST v1: routes, their bodies, and the table from errors to statuses."""
