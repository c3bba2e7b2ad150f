"""Routes that ask for no key."""

FOR_EVERYBODY = {"/health/live", "/health/ready", "/login", "/login/oidc", "/login/oidc/callback", "/assets/{release}/{name}"}
