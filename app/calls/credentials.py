"""Endpoint credentials as a header, and removed from what people read.

Access tokens are those of OAuth 2 clients (RFC 6749, section 4.4) and for API keys of IBM.
"""

import asyncio
import base64
import json
from contextlib import aclosing
from dataclasses import field
from urllib.parse import quote, quote_plus, urlencode

import httpx
import msgspec

from ..base.clock import monotonic_seconds
from ..base.errors import ScoringFailed
from ..base.values import frozen
from ..domain.deployment import Credentials, CredentialsKind, Endpoint
from .call_failures import CallFailure, build_error_failure, build_status_failure
from .egress_policy import parse_url

_REDACTED = "[redacted]"


def build_auth_header(credentials: Credentials | None) -> list[tuple[bytes, bytes]]:
    """Empty where a token is fetched. Raises ScoringFailed of characters that a header cannot carry."""
    if credentials is None or credentials.kind.has_token_url:
        return []  # the header of a token, see `TokenSource`
    match credentials.kind:
        case CredentialsKind.BASIC:
            pair = f"{credentials.name}:{credentials.secret}".encode()
            name = "Authorization"
            value = f"Basic {base64.b64encode(pair).decode()}"
        case CredentialsKind.BEARER:
            name = "Authorization"
            value = f"Bearer {credentials.secret}"
        case _:
            name = credentials.name
            value = credentials.secret
    return [encode_header(name, value)]


def encode_header(name: str, value: str) -> tuple[bytes, bytes]:
    """Raises ScoringFailed of characters that a header cannot carry."""
    # A line break would begin a header of the secret's own.
    if not name or any(ord(character) < ord(" ") or ord(character) == 0x7F for character in name + value):  # noqa: PLR2004 - DEL
        raise ScoringFailed(
            "The endpoint's credentials hold characters that an HTTP header cannot carry; set them again."
        )
    return name.encode(), value.encode()


def redact(text: str, credentials: Credentials | None) -> str:
    """Removes the secret from a text, in every form in which a server may repeat it."""
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
    for name, value in sorted(endpoint.headers.items(), key=lambda header: len(header[1]), reverse=True):
        text = redact(text, Credentials(kind=CredentialsKind.HEADER, name=name, secret=value))
    return redact(text, endpoint.credentials)


def make_bearer_credentials(token: str | None) -> Credentials | None:
    return None if token is None else Credentials(kind=CredentialsKind.BEARER, secret=token)


_DEFAULT_LIFE_SECONDS = 300.0

_RENEWAL_SECONDS = 30.0
"""Tokens of short life are renewed after nine tenths of it."""

_MAX_ANSWER_BYTES = 64 * 1024
_MAX_CACHED_TOKENS = 1_000
_ADVICE = (
    "Check the token_url, the client's id or user, its secret or key, and the scope in the "
    "deployment's credentials."
)


class _TokenAnswer(msgspec.Struct):
    access_token: str = ""
    token: str = ""
    expires_in: float | None = None

    @property
    def given(self) -> str:
        return self.access_token or self.token


@frozen
class _Token:
    text: str = field(repr=False)
    renewed_at: float


_cached_tokens: dict[Credentials, _Token] = {}
"""Tokens of this process: checks of one deployment follow each other in clients of their own."""


class TokenSource:
    """Access tokens of an OAuth client or for an API key. Belongs to one event loop."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._fetching = asyncio.Lock()

    async def token(self, transport: httpx.AsyncBaseTransport) -> str | CallFailure:
        async with self._fetching:
            return self.current() or await self._fetch(transport)

    def current(self) -> str | None:
        cached = _cached_tokens.get(self._credentials)
        return cached.text if cached and monotonic_seconds() < cached.renewed_at else None

    def forget(self, token: str) -> None:
        cached = _cached_tokens.get(self._credentials)
        if cached and cached.text == token:
            del _cached_tokens[self._credentials]

    def known(self) -> str | None:
        cached = _cached_tokens.get(self._credentials)
        return cached.text if cached else None

    async def _fetch(self, transport: httpx.AsyncBaseTransport) -> str | CallFailure:
        url = parse_url(self._credentials.token_url)
        request = _build_request(self._credentials, url)
        subject = f"could not be asked: the token endpoint {url.netloc.decode('ascii')}"
        try:
            response = await transport.handle_async_request(request)
            async with aclosing(response):
                body, _ = await read_body(response, _MAX_ANSWER_BYTES)
        except httpx.RequestError as error:
            failure = build_error_failure(error)
            return CallFailure(
                what=f"{subject} {failure.what}", advice=failure.advice, may_pass=failure.may_pass
            )
        if not response.is_success:
            # Not quoted: some servers repeat what they were sent.
            failure = build_status_failure(response, b"", quotes=False)
            return CallFailure(
                what=f"{subject} {failure.what}",
                advice=_ADVICE,
                may_pass=failure.may_pass,
                retry_after=failure.retry_after,
            )
        try:
            answer = msgspec.json.decode(body, type=_TokenAnswer, strict=False)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            answer = _TokenAnswer()
        if not answer.given:
            return CallFailure(what=f"{subject} gave no access_token", advice=_ADVICE)
        if not answer.given.isascii() or not answer.given.isprintable():
            return CallFailure(
                what=f"{subject} gave an access_token that a header cannot carry", advice=_ADVICE
            )
        life = _DEFAULT_LIFE_SECONDS if answer.expires_in is None else max(answer.expires_in, 0.0)
        while len(_cached_tokens) >= _MAX_CACHED_TOKENS:
            del _cached_tokens[next(iter(_cached_tokens))]
        _cached_tokens[self._credentials] = _Token(
            answer.given, monotonic_seconds() + life - min(_RENEWAL_SECONDS, life / 10)
        )
        return answer.given


async def read_body(response: httpx.Response, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            break
    return bytes(body), len(body) <= limit


def _build_request(credentials: Credentials, url: httpx.URL) -> httpx.Request:
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "evenhand"}
    match credentials.kind:
        case CredentialsKind.CPD_KEY:
            return httpx.Request(
                "POST",
                url,
                headers=headers,
                json={"username": credentials.name, "api_key": credentials.secret},
            )
        case CredentialsKind.MCSP_KEY:
            return httpx.Request("POST", url, headers=headers, json={"apikey": credentials.secret})
        case CredentialsKind.IAM_KEY:
            form = {
                "grant_type": "urn:ibm:params:oauth:grant-type:apikey",
                "response_type": "cloud_iam",
                "apikey": credentials.secret,
            }
        case _:
            # RFC 6749, section 2.3.1: both are encoded as in a form before they are joined.
            pair = base64.b64encode(
                f"{quote_plus(credentials.name)}:{quote_plus(credentials.secret)}".encode()
            ).decode()
            headers["Authorization"] = f"Basic {pair}"
            form = {
                "grant_type": "client_credentials",
                **({"scope": credentials.scope} if credentials.scope else {}),
            }
    return httpx.Request(
        "POST",
        url,
        headers=headers | {"Content-Type": "application/x-www-form-urlencoded"},
        content=urlencode(form),
    )
