"""Credentials of a custom provider as Evenhand sends them."""

from collections.abc import Mapping
from typing import Any

from ..domain.deployments import Credentials, CredentialsKind
from ..errors import InvalidInput

BARE, WRAPPED = "fields_values", "input_data"
"""Payload formats of a custom provider: `{fields, values}`, or the same under `input_data`."""


def credentials_of(stated: Mapping[str, Any] | None) -> Credentials | None:
    """Returns the credentials to send: Basic for a user name, Bearer for a key or token; None where none are stated.

    Raises:
        InvalidInput: they are to be exchanged for a token elsewhere, which Evenhand does with OAuth only.
    """
    if not stated:
        return None
    kind = str(stated.get("auth_type") or "").lower()
    if stated.get("auth_url") and kind in {"api_key", "apikey", "bearer"}:
        message = "is not supported by Evenhand: give a key that the endpoint takes itself, or set OAuth credentials over REST v1"
        raise InvalidInput.of("credentials.auth_url", message)
    name, password = stated.get("username"), stated.get("password")
    secret = stated.get("token") or stated.get("apikey") or stated.get("api_key")
    if kind == "none":
        return None
    if secret and kind != "basic":
        return Credentials(kind=CredentialsKind.BEARER, secret=str(secret))
    if name and password:
        return Credentials(kind=CredentialsKind.BASIC, name=str(name), secret=str(password))
    return None


def payload_format_of(stated: Mapping[str, Any] | None) -> str:
    """Returns the payload format of a provider's endpoints: that of its own member `payload_format`, otherwise bare."""
    sent = (stated or {}).get("payload_format", BARE)
    if sent not in (BARE, WRAPPED):
        raise InvalidInput.of("credentials.payload_format", f"must be {BARE} or {WRAPPED}")
    return str(sent)
