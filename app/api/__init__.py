"""REST v1: routes (parse, one call, return), their bodies, and the table from errors to statuses."""
