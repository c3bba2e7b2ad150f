"""Credentials as a header, and kept out of messages."""

import base64
import json
from urllib.parse import quote

import pytest

from app.base.errors import ScoringFailed
from app.calls.credentials import build_auth_header, redact
from app.domain.deployment import Credentials, CredentialsKind

SECRET = 'p/ä"ss w+rd'  # noqa: S105 - made up


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (None, []),
        (Credentials(kind=CredentialsKind.BASIC, name="user", secret="pass"), [(b"Authorization", b"Basic dXNlcjpwYXNz")]),  # noqa: S106 - made up
        (Credentials(kind=CredentialsKind.BEARER, secret="token"), [(b"Authorization", b"Bearer token")]),  # noqa: S106 - made up
        (Credentials(kind=CredentialsKind.HEADER, name="X-Api-Key", secret="key"), [(b"X-Api-Key", b"key")]),  # noqa: S106 - made up
    ],
)
def test_each_kind_of_credentials_has_its_header(credentials: Credentials | None, header: list[tuple[bytes, bytes]]) -> None:
    assert build_auth_header(credentials) == header


@pytest.mark.parametrize("secret", ["a\r\nX-Admin: 1", "a\0b", "a\x7fb"])
def test_credentials_cannot_smuggle_a_second_header(secret: str) -> None:
    with pytest.raises(ScoringFailed) as caught:
        build_auth_header(Credentials(kind=CredentialsKind.BEARER, secret=secret))

    assert secret not in str(caught.value)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        quote(SECRET),
        quote(SECRET, safe=""),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_cut_out_in_every_encoding(form: str) -> None:
    credentials = Credentials(kind=CredentialsKind.BASIC, name="user", secret=SECRET)

    text = redact(f"you sent {form} twice: {form}", credentials)

    assert form not in text
    assert SECRET not in text
    assert text.count("[redacted]") == 2


def test_text_without_credentials_stays_as_it_is() -> None:
    assert redact("nothing here", None) == "nothing here"
