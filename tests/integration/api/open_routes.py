"""Routes that ask for no key."""

FOR_EVERYBODY = {"/health/live", "/health/ready", "/login", "/assets/{release}/{name}"}
