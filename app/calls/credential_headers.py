"""Endpoint credentials as a header, and removed from what people read."""

import base64
import json
from urllib.parse import quote

from ..base.errors import ScoringFailed
from ..domain.deployment import Credentials, CredentialsKind, Endpoint

_REDACTED = "[redacted]"


def build_auth_header(credentials: Credentials | None) -> list[tuple[bytes, bytes]]:
    """Header that authenticates a request; none without credentials, or where it takes a token.

    Raises:
        ScoringFailed: the credentials hold characters that a header cannot carry.
    """
    if credentials is None or credentials.kind.has_token_url:
        return []  # the header of a token, see `tokens.py`
    match credentials.kind:
        case CredentialsKind.BASIC:
            pair = f"{credentials.name}:{credentials.secret}".encode()
            name, value = "Authorization", f"Basic {base64.b64encode(pair).decode()}"
        case CredentialsKind.BEARER:
            name, value = "Authorization", f"Bearer {credentials.secret}"
        case _:
            name, value = credentials.name, credentials.secret
    return [encode_header(name, value)]


def encode_header(name: str, value: str) -> tuple[bytes, bytes]:
    """A header as it goes on the wire.

    Raises:
        ScoringFailed: it holds characters that a header cannot carry.
    """
    # A line break would begin a header of the secret's own.
    if not name or any(ord(character) < ord(" ") or ord(character) == 0x7F for character in name + value):  # noqa: PLR2004 - DEL
        raise ScoringFailed(
            "The endpoint's credentials hold characters that an HTTP header cannot carry; set them again."
        )
    return name.encode(), value.encode()


def redacted(text: str, credentials: Credentials | None) -> str:
    """`text` without the secret, in any encoding in which a server may have echoed it."""
    if credentials is None or not credentials.secret:
        return text
    secret = credentials.secret
    plains = [
        plain.encode()
        for plain in (secret, f"{credentials.name}:{secret}", f"\0{credentials.name}\0{secret}")
    ]
    encoded = {base64.b64encode(plain).decode() for plain in plains}
    url_safe = {base64.urlsafe_b64encode(plain).decode() for plain in plains}
    escaped = {
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret),
        quote(secret, safe=""),
    }
    # Longest first: one form may hold another.
    for form in sorted({secret, *encoded, *url_safe, *escaped}, key=len, reverse=True):
        text = text.replace(form, _REDACTED)
    return text


def redact_secrets(text: str, endpoint: Endpoint) -> str:
    """`text` without the endpoint's credentials and values of headers."""
    for name, value in sorted(endpoint.headers.items(), key=lambda header: len(header[1]), reverse=True):
        text = redacted(text, Credentials(kind=CredentialsKind.HEADER, name=name, secret=value))
    return redacted(text, endpoint.credentials)


def make_bearer_credentials(token: str | None) -> Credentials | None:
    return None if token is None else Credentials(kind=CredentialsKind.BEARER, secret=token)
