"""Credentials of a custom provider as Evenhand sends them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..domain.deployments import Credentials, CredentialsKind
from ..errors import InvalidInput


@dataclass(frozen=True, slots=True)
class TokenGiver:
    """A service that gives a token for an API key: the kind of its credentials, and the path of its tokens under its address."""

    kind: CredentialsKind
    path: str


BARE, WRAPPED = "fields_values", "input_data"
"""Payload formats of a custom provider: `{fields, values}`, or the same under `input_data`."""


TOKEN_GIVERS: Mapping[str, TokenGiver] = {
    "cloud": TokenGiver(CredentialsKind.IAM_KEY, "/identity/token"),
    "cpd": TokenGiver(CredentialsKind.CPD_KEY, "/icp4d-api/v1/authorize"),
    "mcsp": TokenGiver(CredentialsKind.MCSP_KEY, "/siusermgr/api/1.0/apikeys/token"),
}
"""Services that give a token for an API key, by the provider's `auth_provider`."""


def credentials_of(stated: Mapping[str, Any] | None) -> Credentials | None:
    """Returns the credentials to send: Basic for a user name, a token for a key with `auth_url`, Bearer for another key or a token.

    None where none are stated.

    Raises:
        InvalidInput: a part is missing that the stated `auth_type` or exchange for a token needs.
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
        return Credentials(kind=CredentialsKind.BEARER, secret=str(secret))
    if name and password and kind in {"", "basic"}:
        return Credentials(kind=CredentialsKind.BASIC, name=str(name), secret=str(password))
    if kind:
        # Otherwise the endpoint would be called without credentials, unasked.
        needed = {"basic": "username and password", "bearer": "token"}.get(kind, "apikey")
        raise InvalidInput.of("credentials.auth_type", f"is {kind!r:.60}, which needs {needed}; send none for an open endpoint")
    return None


def credentials_json(credentials: Credentials | None) -> dict[str, Any] | None:
    """Returns credentials as REST v1 takes them."""
    if credentials is None:
        return None
    return {"kind": credentials.kind.value, "name": credentials.name, "secret": credentials.secret, "token_url": credentials.token_url}


def _exchanged(stated: Mapping[str, Any], key: str) -> Credentials:
    sent = str(stated.get("auth_provider") or "").lower()
    giver = TOKEN_GIVERS.get(sent)
    if giver is None:
        found = f"must be one of {', '.join(TOKEN_GIVERS)}, to exchange the key for a token at auth_url; found {sent!r:.60}"
        raise InvalidInput.of("credentials.auth_provider", found)
    name = str(stated.get("username") or "") if giver.kind is CredentialsKind.CPD_KEY else ""
    if giver.kind is CredentialsKind.CPD_KEY and not name:
        raise InvalidInput.of("credentials.username", "is required: Cloud Pak for Data gives a token for a user name and its API key")
    address = str(stated["auth_url"]).rstrip("/")
    # Scripts give the service's address, or that of its tokens.
    is_whole = address.endswith(("/token", "/authorize"))
    return Credentials(kind=giver.kind, name=name, secret=key, token_url=address if is_whole else f"{address}{giver.path}")


def payload_format_of(stated: Mapping[str, Any] | None) -> str:
    """Returns the payload format of a provider's endpoints: that of its own member `payload_format`, otherwise bare."""
    sent = (stated or {}).get("payload_format", BARE)
    if sent not in (BARE, WRAPPED):
        raise InvalidInput.of("credentials.payload_format", f"must be {BARE} or {WRAPPED}")
    return str(sent)
