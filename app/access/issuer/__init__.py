"""Log-in at an issuer of OpenID Connect, and its tokens as bearer tokens of the REST API."""
