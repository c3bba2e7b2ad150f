"""Verification of the issuer's signed tokens: signature, issuer, audience, times, nonce."""

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ...base.errors import Forbidden, SetupError, Unauthenticated
from ...base.settings import Settings
from ...base.values import frozen, frozen_by_name
from ...calls.egress_policy import parse_address
from ..principals import Role

CALLBACK = "/login/oidc/callback"
BACK_CHANNEL = "/login/oidc/back-channel-logout"


class ClaimRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Gives `role` to those whose `claim` is, or contains, `value`, for one deployment or all.

    `claim` is a name, or a path with dots to a member (`realm_access.roles`).
    """

    claim: str
    value: str
    role: Role
    deployment: str | None = None


@frozen_by_name
class OidcConfiguration:
    """The issuer and this client. `audience` is that of bearer tokens; None where none are accepted."""

    issuer: str
    client_id: str
    client_secret: str | None
    audience: str | None
    scopes: str
    name_claim: str
    rules: tuple[ClaimRule, ...]
    public_url: str
    session: timedelta

    @property
    def redirect_uri(self) -> str:
        return f"{self.public_url}{CALLBACK}"


def read_configuration(settings: Settings) -> OidcConfiguration | None:
    if not settings.oidc_issuer:
        return None
    for name, value in (
        ("EVENHAND_OIDC_CLIENT_ID", settings.oidc_client_id),
        ("EVENHAND_PUBLIC_URL", settings.public_url),
    ):
        if not value:
            raise SetupError(f"EVENHAND_OIDC_ISSUER is set, so {name} must be set, too.")
    require_secure_url("EVENHAND_OIDC_ISSUER", settings.oidc_issuer)
    require_secure_url("EVENHAND_PUBLIC_URL", settings.public_url)
    return OidcConfiguration(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=None
        if settings.oidc_client_secret is None
        else settings.oidc_client_secret.get_secret_value(),
        audience=settings.oidc_audience or None,
        scopes=" ".join(dict.fromkeys(["openid", *settings.oidc_scopes.split()])),
        name_claim=settings.oidc_name_claim,
        rules=_read_rules(settings.oidc_roles),
        public_url=settings.public_url.rstrip("/"),
        session=timedelta(minutes=settings.oidc_session_minutes),
    )


def require_secure_url(name: str, url: str) -> None:
    """Raises SetupError unless the URL is of HTTPS or this machine, without query and fragment."""
    try:
        split_url = urlsplit(url)
        host = split_url.hostname or ""
    except ValueError:
        raise SetupError(f"{name} is not an address.") from None
    address = parse_address(host)
    is_loopback_host = host == "localhost" or (address is not None and address.is_loopback)
    if (
        not host
        or split_url.query
        or split_url.fragment
        or "@" in split_url.netloc
        or split_url.scheme not in ({"https", "http"} if is_loopback_host else {"https"})
    ):
        raise SetupError(
            f"{name} must be an https:// address without a query, found {url!r}. Plain http:// is for this "
            "machine only."
        )


def _read_rules(text: str) -> tuple[ClaimRule, ...]:
    example = '[{"claim": "groups", "value": "fairness-admins", "role": "admin"}]'
    try:
        rules = msgspec.json.decode(text or "[]", type=tuple[ClaimRule, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SetupError(f"EVENHAND_OIDC_ROLES must be a JSON list such as {example}: {error}.") from error
    if not rules:
        raise SetupError(
            "EVENHAND_OIDC_ISSUER is set, and nobody would have a role: set EVENHAND_OIDC_ROLES, such as "
            f"{example}."
        )
    for rule in rules:
        if rule.role is Role.ADMIN and rule.deployment is not None:
            raise SetupError(
                "EVENHAND_OIDC_ROLES binds an admin to a deployment, which would only look like a limit: "
                "use the role manage."
            )
    return rules


_ROLES_UPWARDS = (Role.INGEST, Role.AGGREGATES, Role.READ, Role.MANAGE, Role.ADMIN)
_FORBIDDEN_IN_NAME = re.compile(r"[^a-z0-9._@-]+", re.ASCII)
_MAX_NAME_CHARACTERS = 48
"""Of a name from a claim; the end of a user's name distinguishes two of the same."""


@frozen
class Grant:
    """Role of a person, for one deployment or all."""

    role: Role
    deployment_id: str | None


@frozen_by_name
class Identity:
    """A person that the issuer knows. `subject` is unique and never given to anybody else; `name` may be
    neither.
    """

    issuer: str
    subject: str
    name: str
    grant: Grant

    @property
    def distinct_name(self) -> str:
        key = f"{len(self.issuer)} {self.issuer}{self.subject}"
        return f"{self.name}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def identify(claims: Mapping[str, Any], configuration: OidcConfiguration, *, for_pages: bool) -> Identity:
    """Finds the identity and its role: the highest one; of rules that give it, one for all deployments.

    Raises Forbidden if no rule gives a role, or rules give it for several deployments and none for all.
    """
    matching = [rule for rule in configuration.rules if rule.value in read_claim(claims, rule.claim)]
    if for_pages:
        matching = [rule for rule in matching if rule.role is not Role.INGEST]
    if not matching:
        raise Forbidden(
            "The issuer says who you are, and nothing that gives you a role here. Ask an admin for the "
            "group or role that does."
        )
    subject = str(claims["sub"])
    claimed_name = min(read_claim(claims, configuration.name_claim), default="") or subject
    name = _FORBIDDEN_IN_NAME.sub("-", claimed_name.lower()).strip("._@-")[:_MAX_NAME_CHARACTERS] or "unnamed"
    return Identity(issuer=configuration.issuer, subject=subject, name=name, grant=_choose_grant(matching))


def read_claim(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    claim: object = claims.get(name)
    if claim is None:
        claim = claims
        for step in name.split("."):
            claim = claim.get(step) if isinstance(claim, Mapping) else None
    values = claim if isinstance(claim, list | tuple) else [claim]
    return frozenset(text for text in values if isinstance(text, str))


def _choose_grant(rules: list[ClaimRule]) -> Grant:
    highest = max((rule.role for rule in rules), key=_ROLES_UPWARDS.index)
    deployments = {rule.deployment for rule in rules if rule.role is highest}
    if None in deployments:
        return Grant(highest, None)
    if len(deployments) > 1:
        names = ", ".join(sorted(str(deployment) for deployment in deployments))
        raise Forbidden(
            f"Your groups give you the role {highest.value} for several deployments ({names}). A person is "
            "bound to one, or to none."
        )
    return Grant(highest, deployments.pop())


LEEWAY_SECONDS = 60

LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"

MAX_TOKEN_CHARACTERS = 16_384

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""No `none`, and none with a shared secret: a public key would be that secret."""

_MIN_RSA_BITS = 2048
_MAX_SUBJECT_CHARACTERS = 255
_NOT_FOR_ACCESS = frozenset({"ID", "Refresh", "Offline", "Logout"})
_FAULTS: Mapping[type, str] = {
    jwt.ExpiredSignatureError: "The token has expired. Log in again.",
    jwt.ImmatureSignatureError: "The token is not valid yet. Compare the clocks of the issuer and of this "
    "service.",
    jwt.InvalidAudienceError: "The token is for another audience.",
    jwt.InvalidIssuerError: "The token is of another issuer.",
    jwt.InvalidTokenError: "The token is not one that the issuer signed for this service.",
}
_TOKEN_FORM = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){2}", re.ASCII)


class UnknownKey(Exception):
    """The token names a key that is not among those known. Newer ones may have it."""


def verify_token(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, audience: str
) -> dict[str, Any]:
    """`keys` are JWKs. Raises UnknownKey, or Unauthenticated for any other fault."""
    if len(token) > MAX_TOKEN_CHARACTERS or not _TOKEN_FORM.fullmatch(token):
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
        or not 0 < len(claims["sub"]) <= _MAX_SUBJECT_CHARACTERS
        or "\x00" in claims["sub"]
    ):
        raise Unauthenticated("The token names nobody.")
    return claims


def require_id_token(claims: Mapping[str, Any], *, client_id: str, nonce: str) -> None:
    """Raises Unauthenticated unless the claims answer the log-in of `nonce`."""
    claimed_nonce = claims.get("nonce")
    if not isinstance(claimed_nonce, str) or not hmac.compare_digest(claimed_nonce.encode(), nonce.encode()):
        raise Unauthenticated("The issuer's answer belongs to another log-in. Log in again.")
    is_for_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if claims.get("azp", None if is_for_several else client_id) != client_id:
        raise Unauthenticated("The token is for another client.")


def require_logout_token(claims: Mapping[str, Any]) -> str:
    """Returns the `jti` (OpenID Connect Back-Channel Logout 1.0, section 2.6). Raises Unauthenticated."""
    events = claims.get("events")
    jti = claims.get("jti")
    if not isinstance(events, Mapping) or not isinstance(events.get(LOGOUT_EVENT), Mapping):
        raise Unauthenticated("The token is not a notice of a log-out.")
    if "nonce" in claims:  # an ID token must not pass for a notice
        raise Unauthenticated("The token has a nonce, which a notice of a log-out must not have.")
    if not isinstance(jti, str) or not jti:
        raise Unauthenticated("The token has no jti, so it could be sent again.")
    return jti


def require_access_token(claims: Mapping[str, Any]) -> None:
    """Raises Unauthenticated for an ID token, a refresh token or a notice of a log-out."""
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
        key_set = jwt.PyJWKSet([{"alg": algorithm, **key} for key in keys if kid in (None, key.get("kid"))])
    except jwt.PyJWKSetError as error:
        raise UnknownKey from error
    usable_keys = [
        key for key in key_set if key.algorithm_name == algorithm and key.public_key_use in (None, "sig")
    ]
    if len(usable_keys) != 1:
        raise UnknownKey
    if isinstance(usable_keys[0].key, RSAPublicKey) and usable_keys[0].key.key_size < _MIN_RSA_BITS:
        raise Unauthenticated(f"The issuer's key has fewer than {_MIN_RSA_BITS} bits.")
    return usable_keys[0]
