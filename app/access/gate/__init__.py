"""What a request passes before its route, and what every route may ask for."""
