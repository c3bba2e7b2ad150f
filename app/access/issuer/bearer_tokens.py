"""Access tokens of the issuer that callers of the REST API send."""

import re
from datetime import UTC, datetime

import jwt

from ...base.frozen import frozen
from .issuer import Issuer
from .issuer_configuration import OidcConfiguration
from .token_claims import Identity, identify
from .verify_token import MAX_TOKEN_CHARACTERS, require_access_token

_FORM = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){2}", re.ASCII)
_OWN_ALGORITHM = "HS256"


@frozen
class BearerTokens:
    """Reads the issuer's access tokens for one audience. Belongs to one event loop."""

    configuration: OidcConfiguration
    issuer: Issuer
    audience: str

    async def read(self, token: str) -> tuple[Identity, datetime]:
        """Returns the holder of a token, and the moment at which it expires.

        Raises:
        Unauthenticated: the token is not one of the issuer for the audience, or not valid now.
        Forbidden: its claims give no role.
        Unavailable: the issuer's keys are not known.
        """
        claims = await self.issuer.verify(token, audience=self.audience)
        require_access_token(claims)
        return identify(claims, self.configuration, for_pages=False), datetime.fromtimestamp(
            claims["exp"], UTC
        )


def is_of_issuer(text: str) -> bool:
    """Returns whether a text has the form of a token that was not signed here: our own have a shared
    secret, the issuer's never.
    """
    if len(text) > MAX_TOKEN_CHARACTERS or not _FORM.fullmatch(text):
        return False
    try:
        return jwt.get_unverified_header(text).get("alg") != _OWN_ALGORITHM
    except jwt.InvalidTokenError:
        return False
