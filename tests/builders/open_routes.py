"""Routes that ask for no key."""

FOR_EVERYBODY = {
    "/health/live",
    "/health/ready",
    "/login",
    "/v1/log-ins",
    "/login/oidc",
    "/login/oidc/callback",
    "/login/oidc/back-channel-logout",
    "/assets/{release}/{name}",
}
