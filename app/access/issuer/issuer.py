"""The issuer over HTTPS: discovery document, public keys, codes exchanged for tokens, access tokens."""

import asyncio
import base64
import re
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from urllib.parse import quote_plus, urlencode

import httpx
import jwt
import msgspec
import structlog

from ...base.clock import monotonic_seconds
from ...base.errors import EndpointRefused, SetupError, Unauthenticated, Unavailable
from ...base.strict_json import JsonObject
from ...calls.credentials import read_body
from .verify_token import (
    MAX_TOKEN_CHARACTERS,
    Identity,
    OidcConfiguration,
    UnknownKey,
    identify,
    require_access_token,
    require_secure_url,
    verify_token,
)

REFRESH_SECONDS = 3600.0

MAX_AGE_SECONDS = 24 * 3600.0
"""Of keys that are still used while the issuer does not answer."""

MIN_PAUSE_SECONDS = 30.0
"""Between two questions: anybody can send a token with a made-up key."""

_TIMEOUT_SECONDS = 5.0
_MAX_ANSWER_BYTES = 2**20
_MAX_KEYS = 100

log = structlog.get_logger("evenhand.oidc")


class Discovery(msgspec.Struct, frozen=True):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class _KeySet(msgspec.Struct, frozen=True):
    keys: tuple[JsonObject, ...]


class _TokenAnswer(msgspec.Struct, frozen=True):
    id_token: str


class Issuer:
    """The issuer of log-ins. Belongs to one event loop. `transport` decides which addresses are reached."""

    def __init__(
        self,
        configuration: OidcConfiguration,
        transport: Callable[[], httpx.AsyncBaseTransport],
        *,
        clock: Callable[[], float] = monotonic_seconds,
    ) -> None:
        self._configuration = configuration
        self._make_transport = transport
        self._clock = clock
        self._transport: httpx.AsyncBaseTransport | None = None
        self._lock = asyncio.Lock()
        self._discovery: Discovery | None = None
        self._keys: tuple[JsonObject, ...] = ()
        self._fetched_at = self._tried_at = -MAX_AGE_SECONDS * 2

    async def read_discovery(self) -> Discovery:
        """Raises Unavailable."""
        await self._refresh(max_age=REFRESH_SECONDS)
        if self._discovery is None:
            raise Unavailable(
                "The issuer of log-ins does not answer. Try again in a moment, or log in with an API key."
            )
        return self._discovery

    async def verify(self, token: str, *, audience: str) -> JsonObject:
        """Raises Unauthenticated if the token is not signed for the audience or not valid now, and
        Unavailable.
        """
        for max_age in (REFRESH_SECONDS, MIN_PAUSE_SECONDS):
            await self._refresh(max_age=max_age)
            if not self._keys or self._clock() - self._fetched_at > MAX_AGE_SECONDS:
                raise Unavailable(
                    "The issuer of log-ins does not answer, so its tokens cannot be verified. Try again in "
                    "a moment."
                )
            with suppress(UnknownKey):
                return verify_token(token, self._keys, issuer=self._configuration.issuer, audience=audience)
        raise Unauthenticated("The token is signed with a key that the issuer does not name.")

    async def identify(self, token: str) -> tuple[Identity, datetime]:
        """Raises Unauthenticated, Forbidden (no role) and Unavailable."""
        claims = await self.verify(token, audience=self._configuration.audience or "")
        require_access_token(claims)
        expires_at = datetime.fromtimestamp(claims["exp"], UTC)
        return identify(claims, self._configuration, for_pages=False), expires_at

    async def redeem(self, code: str, *, verifier: str) -> str:
        """Raises Unauthenticated and Unavailable."""
        discovery = await self.read_discovery()
        configuration = self._configuration
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": configuration.redirect_uri,
            "code_verifier": verifier,
        }
        headers = {}
        if configuration.client_secret is None:
            form["client_id"] = configuration.client_id
        elif "client_secret_basic" in discovery.token_endpoint_auth_methods_supported:
            # RFC 6749, section 2.3.1: both are encoded as in a form before they are joined.
            pair = f"{quote_plus(configuration.client_id)}:{quote_plus(configuration.client_secret)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": configuration.client_id, "client_secret": configuration.client_secret}
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        status, body = await self._ask(
            "POST", discovery.token_endpoint, headers=headers, content=urlencode(form).encode()
        )
        if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise Unavailable("The issuer of log-ins fails at the moment. Try again.")
        if status != httpx.codes.OK:
            # The answer is not quoted: some servers repeat what they were sent.
            raise Unauthenticated("The issuer does not accept this log-in. Log in again.")
        try:
            return msgspec.json.decode(body, type=_TokenAnswer).id_token
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Unauthenticated(
                "The issuer's answer has no ID token. Ask an admin to compare the scopes: `openid` must be "
                "allowed."
            ) from error

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    async def _refresh(self, *, max_age: float) -> None:
        async with self._lock:
            now = self._clock()
            if now - self._fetched_at < max_age or now - self._tried_at < MIN_PAUSE_SECONDS:
                return
            self._tried_at = now
            try:
                self._discovery, self._keys = await self._fetch()
            except (
                Unavailable,
                SetupError,
                msgspec.MsgspecError,
                UnicodeDecodeError,
                RecursionError,
            ) as error:
                log.warning("issuer_not_read", issuer=self._configuration.issuer, error=str(error))
                return
            self._fetched_at = self._clock()

    async def _fetch(self) -> tuple[Discovery, tuple[JsonObject, ...]]:
        address = self._configuration.issuer.rstrip("/") + "/.well-known/openid-configuration"
        discovery = msgspec.json.decode(await self._get(address), type=Discovery)
        if discovery.issuer != self._configuration.issuer:
            raise Unavailable(
                f"the document is of the issuer {discovery.issuer!r}; EVENHAND_OIDC_ISSUER must be exactly "
                "that"
            )
        endpoints = (
            discovery.authorization_endpoint,
            discovery.token_endpoint,
            discovery.jwks_uri,
            discovery.end_session_endpoint,
        )
        for endpoint in endpoints:
            if endpoint is not None:
                require_secure_url(
                    "An address in the issuer's discovery document", endpoint.partition("?")[0]
                )
        keys = msgspec.json.decode(await self._get(discovery.jwks_uri), type=_KeySet).keys
        return discovery, keys[:_MAX_KEYS]

    async def _get(self, url: str) -> bytes:
        status, body = await self._ask("GET", url, headers={})
        if status != httpx.codes.OK:
            raise Unavailable(f"{url} answered {status}")
        return body

    async def _ask(
        self, method: str, url: str, *, headers: Mapping[str, str], content: bytes | None = None
    ) -> tuple[int, bytes]:
        if self._transport is None:
            self._transport = self._make_transport()
        all_headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "evenhand",
            **headers,
        }
        request = httpx.Request(method, url, headers=all_headers, content=content)
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                # The transport itself follows no redirect and uses no proxy.
                response = await self._transport.handle_async_request(request)
                async with aclosing(response):
                    body, is_complete = await read_body(response, _MAX_ANSWER_BYTES)
                    if not is_complete:
                        raise Unavailable(f"{url} answered more than {_MAX_ANSWER_BYTES:,} bytes")
        except (httpx.HTTPError, TimeoutError, OSError, EndpointRefused) as error:
            log.warning("issuer_not_reached", url=url, error=type(error).__name__)
            raise Unavailable(
                "The issuer of log-ins does not answer. Try again in a moment, or log in with an API key."
            ) from error
        return response.status_code, body


_TOKEN_FORM = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*){2}", re.ASCII)
_OWN_ALGORITHM = "HS256"


def is_of_issuer(text: str) -> bool:
    if len(text) > MAX_TOKEN_CHARACTERS or not _TOKEN_FORM.fullmatch(text):
        return False
    try:
        return jwt.get_unverified_header(text).get("alg") != _OWN_ALGORITHM
    except jwt.InvalidTokenError:
        return False
