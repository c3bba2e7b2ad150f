"""Short-lived signed tokens that stand in for an API key, for programs that log in first.

A token names the key, so revoking the key ends the token, too.
"""

import re
from datetime import datetime, timedelta

import jwt

from ..errors import Unauthenticated

LASTS = timedelta(hours=1)
"""Lifetime of a token."""

_ALGORITHM = "HS256"
_AUDIENCE = "evenhand"
_FORM = re.compile(r"[A-Za-z0-9_-]{1,500}(\.[A-Za-z0-9_-]{1,2000}){2}", re.ASCII)


class AccessTokens:
    """Signs and reads the tokens of one installation."""

    def __init__(self, signing_key: bytes) -> None:
        self._signing_key = signing_key

    def issue(self, key_id: str, *, now: datetime) -> str:
        """Returns a new token of the key."""
        claims = {"sub": key_id, "aud": _AUDIENCE, "iat": now, "exp": now + LASTS}
        return jwt.encode(claims, self._signing_key, algorithm=_ALGORITHM)

    def read(self, token: str) -> str:
        """Returns the public id of the token's key.

        Raises:
            Unauthenticated: the token is over, or was not signed here.
        """
        try:
            # The algorithm is named, because a token may name another one, or none.
            claims = jwt.decode(
                token, self._signing_key, algorithms=[_ALGORITHM], audience=_AUDIENCE, options={"require": ["sub", "exp", "iat"]}
            )
        except jwt.ExpiredSignatureError as error:
            raise Unauthenticated("This access token is over. Log in again.") from error
        except jwt.InvalidTokenError as error:
            raise Unauthenticated("This access token is not known here. Log in again.") from error
        return str(claims["sub"])


def looks_like_token(text: str) -> bool:
    """Returns whether a text has the form of an access token."""
    return _FORM.fullmatch(text) is not None
