"""Short-lived signed tokens in place of an API key, for programs that log in first.

A token names the key, so revoking the key ends the token, too.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import jwt

from ..errors import Unauthenticated

LASTS = timedelta(hours=1)
"""Lifetime of a token."""

_ALGORITHM = "HS256"
_AUDIENCE = "evenhand"
_UNKNOWN = "This access token is not known here. Log in again."
_FORM = re.compile(r"[A-Za-z0-9_-]{1,500}(\.[A-Za-z0-9_-]{1,2000}){2}", re.ASCII)


class AccessTokens:
    """Signs and reads the tokens of one installation. `signing_keys` are asked for each time: keys are rotated. The first signs."""

    def __init__(self, signing_keys: Callable[[], Sequence[bytes]]) -> None:
        self._signing_keys = signing_keys

    def issue(self, key_id: str, *, now: datetime) -> str:
        """Returns a new token of the key."""
        claims = {"sub": key_id, "aud": _AUDIENCE, "iat": now, "exp": now + LASTS}
        return jwt.encode(claims, self._signing_keys()[0], algorithm=_ALGORITHM)

    def read(self, token: str) -> str:
        """Returns the public id of the token's key.

        Raises:
            Unauthenticated: the token is over, or was not signed here.
        """
        for key in self._signing_keys():
            try:
                # The algorithm is named, because a token may name another one, or none.
                claims = jwt.decode(token, key, algorithms=[_ALGORITHM], audience=_AUDIENCE, options={"require": ["sub", "exp", "iat"]})
            except jwt.InvalidSignatureError:
                continue
            except jwt.ExpiredSignatureError as error:
                raise Unauthenticated("This access token is over. Log in again.") from error
            except jwt.InvalidTokenError as error:
                raise Unauthenticated(_UNKNOWN) from error
            return str(claims["sub"])
        raise Unauthenticated(_UNKNOWN)


def looks_like_token(text: str) -> bool:
    """Returns whether a text has the form of an access token."""
    return _FORM.fullmatch(text) is not None
