"""Credentials of a custom provider, as an endpoint of REST v1 has them."""

from collections.abc import Mapping

from .refused import invalid
from .v1 import Document, Json

BARE, WRAPPED = "fields_values", "input_data"

TOKEN_GIVERS: Mapping[str, tuple[str, str]] = {
    "cloud": ("iam_key", "/identity/token"),
    "cpd": ("cpd_key", "/icp4d-api/v1/authorize"),
    "mcsp": ("mcsp_key", "/siusermgr/api/1.0/apikeys/token"),
}
"""Kind of credentials, and path of the tokens for an API key, by the provider's `auth_provider`."""


def credentials_json(stated: Document | None) -> Json | None:
    """Returns the credentials to send: Basic for a user name, a token for a key with `auth_url`, Bearer for another key or a token.

    Raises:
    Refused: a part is missing that the stated `auth_type` or exchange for a token needs.
    """
    kind = str((stated or {}).get("auth_type") or "").lower()
    if not stated or kind == "none":
        return None
    name, password = stated.get("username"), stated.get("password")
    key = stated.get("apikey") or stated.get("api_key")
    # Scripts state Basic for a user of Cloud Pak for Data, whose key is exchanged all the same.
    if key and stated.get("auth_url") and (kind != "basic" or not password):
        return _exchanged(stated, str(key))
    secret = stated.get("token") or key
    if secret and kind != "basic":
        return {"kind": "bearer", "name": "", "secret": str(secret), "token_url": ""}
    if name and password and kind in {"", "basic"}:
        return {"kind": "basic", "name": str(name), "secret": str(password), "token_url": ""}
    if kind:
        # Otherwise the endpoint would be called without credentials, unasked.
        needed = {"basic": "username and password", "bearer": "token"}.get(kind, "apikey")
        raise invalid("credentials.auth_type", f"is {kind!r:.60}, which needs {needed}; send none for an open endpoint")
    return None


def _exchanged(stated: Document, key: str) -> Json:
    sent = str(stated.get("auth_provider") or "").lower()
    if sent not in TOKEN_GIVERS:
        wanted = f"must be one of {', '.join(TOKEN_GIVERS)}, to exchange the key for a token at auth_url; found {sent!r:.60}"
        raise invalid("credentials.auth_provider", wanted)
    kind, path = TOKEN_GIVERS[sent]
    name = str(stated.get("username") or "") if sent == "cpd" else ""
    if sent == "cpd" and not name:
        raise invalid("credentials.username", "is required: Cloud Pak for Data gives a token for a user name and its API key")
    address = str(stated["auth_url"]).rstrip("/")
    # Scripts give the service's address, or that of its tokens.
    is_whole = address.endswith(("/token", "/authorize"))
    return {"kind": kind, "name": name, "secret": key, "token_url": address if is_whole else f"{address}{path}"}


def payload_format_of(stated: Document | None) -> str:
    """Returns the provider's own member `payload_format`, otherwise bare."""
    sent = (stated or {}).get("payload_format", BARE)
    if sent not in (BARE, WRAPPED):
        raise invalid("credentials.payload_format", f"must be {BARE} or {WRAPPED}")
    return str(sent)
