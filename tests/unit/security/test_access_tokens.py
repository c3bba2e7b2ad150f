"""Access tokens: of which key they are, until when, and across a rotation of the secret key."""

from datetime import UTC, datetime, timedelta

import pytest

from app.clock import utc_now
from app.errors import Unauthenticated
from app.security.access_tokens import LASTS, AccessTokens
from app.security.secrets import SecretBox


def test_a_token_names_its_key_after_a_rotation_too() -> None:
    issued = AccessTokens(SecretBox("first").signing_keys).issue("key-1", now=utc_now())

    assert AccessTokens(SecretBox("second", "first").signing_keys).read(issued) == "key-1"


@pytest.mark.parametrize("keys", [("second",), ("second", "third")])
def test_a_token_of_another_installation_is_refused(keys: tuple[str, ...]) -> None:
    issued = AccessTokens(SecretBox("first").signing_keys).issue("key-1", now=utc_now())

    with pytest.raises(Unauthenticated, match="not known here"):
        AccessTokens(SecretBox(*keys).signing_keys).read(issued)


def test_a_token_that_is_over_is_refused_as_that() -> None:
    tokens = AccessTokens(SecretBox("first").signing_keys)

    with pytest.raises(Unauthenticated, match="is over"):
        tokens.read(tokens.issue("key-1", now=datetime.now(UTC) - LASTS - timedelta(minutes=1)))


@pytest.mark.parametrize("text", ["", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJrZXktMSJ9."])
def test_a_token_without_a_signature_is_refused(text: str) -> None:
    with pytest.raises(Unauthenticated, match="not known here"):
        AccessTokens(SecretBox("first").signing_keys).read(text)
