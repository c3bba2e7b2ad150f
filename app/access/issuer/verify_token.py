"""Verification of the issuer's signed tokens: signature, issuer, audience, times, nonce."""

import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ...base.errors import Unauthenticated

LEEWAY_SECONDS = 60

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"

MAX_TOKEN_CHARACTERS = 16_384

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""No `none`, and none with a shared secret: a public key would be that secret."""

_MIN_RSA_BITS = 2048
_MAX_SUBJECT = 255
_NOT_FOR_ACCESS = frozenset({"ID", "Refresh", "Offline", "Logout"})
_FAULTS: Mapping[type, str] = {
    jwt.ExpiredSignatureError: "The token has expired. Log in again.",
    jwt.ImmatureSignatureError: "The token is not valid yet. Compare the clocks of the issuer and of this "
    "service.",
    jwt.InvalidAudienceError: "The token is for another audience.",
    jwt.InvalidIssuerError: "The token is of another issuer.",
    jwt.InvalidTokenError: "The token is not one that the issuer signed for this service.",
}
_FORM = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}", re.ASCII)


class UnknownKey(Exception):
    """The token names a key that is not among those known. Newer ones may have it."""


def verify_token(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, audience: str
) -> dict[str, Any]:
    """Claims. `keys` are JWKs. Raises UnknownKey, or Unauthenticated for any other fault."""
    if len(token) > MAX_TOKEN_CHARACTERS or not _FORM.fullmatch(token):
        raise Unauthenticated("This is not a token of the issuer.")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.InvalidTokenError as error:
        raise Unauthenticated("This is not a token of the issuer.") from error
    if "crit" in header:
        raise Unauthenticated("The token has extensions that are not understood here.")
    key = _find_key(header, keys)
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=audience,
            issuer=issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["iss", "sub", "aud", "exp", "iat"]},
        )
    except jwt.InvalidTokenError as error:
        raise Unauthenticated(
            next(_FAULTS[kind] for kind in type(error).__mro__ if kind in _FAULTS)
        ) from error
    if (
        not isinstance(claims["sub"], str)
        or not 0 < len(claims["sub"]) <= _MAX_SUBJECT
        or "\x00" in claims["sub"]
    ):
        raise Unauthenticated("The token names nobody.")
    return claims


def require_id_token(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    """Raises Unauthenticated unless the claims answer our own log-in request."""
    sent = claims.get("nonce")
    if not isinstance(sent, str) or not hmac.compare_digest(sent.encode(), nonce.encode()):
        raise Unauthenticated("The issuer's answer belongs to another log-in. Log in again.")
    is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_for_several else client_id) != client_id:
        raise Unauthenticated("The token is for another client.")


def require_logout_token(claims: Mapping[str, Any]) -> str:
    """`jti` of a notice (OpenID Connect Back-Channel Logout 1.0, section 2.6). Raises Unauthenticated."""
    events = claims.get("events")
    jti = claims.get("jti")
    if not isinstance(events, Mapping) or not isinstance(events.get(LOGOUT_EVENT), Mapping):
        raise Unauthenticated("The token is not a notice of a log-out.")
    if "nonce" in claims:
        raise Unauthenticated("The token has a nonce, which a notice of a log-out must not have.")
    if not isinstance(jti, str) or not jti:
        raise Unauthenticated("The token has no jti, so it could be sent again.")
    return jti


def require_access_token(claims: Mapping[str, Any]) -> None:
    """Raises Unauthenticated of an ID token, a refresh token or a notice of a log-out."""
    if claims.get("typ") in _NOT_FOR_ACCESS or "events" in claims:
        raise Unauthenticated("This token is not an access token.")


def _find_key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]]) -> jwt.PyJWK:
    algorithm = header.get("alg")
    kid = header.get("kid")
    if algorithm not in _ALGORITHMS:
        raise Unauthenticated("The token is signed by an algorithm that is not accepted here.")
    try:
        # A key without an algorithm is good for all of its type. The set leaves out keys of other types, and
        # those that cannot be read.
        named = jwt.PyJWKSet([{"alg": algorithm, **key} for key in keys if kid in (None, key.get("kid"))])
    except jwt.PyJWKSetError as error:
        raise UnknownKey from error
    fitting = [
        key for key in named if key.algorithm_name == algorithm and key.public_key_use in (None, "sig")
    ]
    if len(fitting) != 1:
        raise UnknownKey
    if isinstance(fitting[0].key, RSAPublicKey) and fitting[0].key.key_size < _MIN_RSA_BITS:
        raise Unauthenticated(f"The issuer's key has fewer than {_MIN_RSA_BITS} bits.")
    return fitting[0]
