"""The gate that a request passes before its route, and the dependencies that every route may ask for."""
