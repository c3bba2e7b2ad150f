"""Asks a custom provider for the deployments that it serves: `GET /v1/deployments` of its address."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec

from ..domain.deployments import Credentials
from ..errors import EndpointRefused, InvalidInput, ScoringFailed
from ..outbound.credentials import bearer_of, encode_header, header_of, redacted
from ..outbound.egress import EgressPolicy, check_url
from ..outbound.failures import CallFailure
from ..outbound.tokens import TokenSource
from ..outbound.transport import PinnedTransport
from .credentials import credentials_of

_SECONDS = 20.0
_MAX_BYTES = 4 * 2**20


async def list_deployments_of(stated: Mapping[str, Any], headers: Mapping[str, str], policy: EgressPolicy) -> list[dict[str, Any]]:
    """Returns the resources of a provider's answer, which the SDK reads as they are.

    Raises:
        InvalidInput: the provider has no address, or one that may not be called.
        ScoringFailed: it does not answer, or not with deployments.
    """
    address = str(stated.get("url") or "").rstrip("/")
    if not address:
        raise InvalidInput.of("credentials.url", "is missing: without an address a provider cannot be asked for its deployments")
    url = address if address.endswith("/v1/deployments") else f"{address}/v1/deployments"
    try:
        check_url(url, policy)
    except EndpointRefused as error:
        raise InvalidInput.of("credentials.url", str(error)) from error
    credentials = credentials_of(stated)
    own = [encode_header(name, value) for name, value in headers.items()]
    try:
        transport = PinnedTransport(policy, connections=1)
        async with (
            asyncio.timeout(_SECONDS),
            httpx.AsyncClient(transport=transport, timeout=_SECONDS, follow_redirects=False) as client,
        ):
            known = await _exchange(credentials, transport)
            answer, body = await _read(client, url, [*header_of(known), *own])
    except (httpx.HTTPError, TimeoutError) as error:
        raise ScoringFailed(f"The service provider at {httpx.URL(url).host} did not answer. Look at its server.") from error
    return _read_resources(answer, body, known)


async def _exchange(credentials: Credentials | None, transport: httpx.AsyncBaseTransport) -> Credentials | None:
    """Returns the credentials to send: a token where the stated ones are exchanged for one."""
    if credentials is None or not credentials.kind.has_token_url:
        return credentials
    source = TokenSource(credentials)
    # A new one: the token that is kept may have been revoked, and this question is rare.
    source.forget(source.known() or "")
    token = await source.token(transport)
    if isinstance(token, CallFailure):
        raise ScoringFailed(f"The service provider {token.what}. {token.advice}")
    return bearer_of(token)


async def _read(client: httpx.AsyncClient, url: str, headers: list[tuple[bytes, bytes]]) -> tuple[httpx.Response, bytes]:
    body = b""
    async with client.stream("GET", url, headers=headers) as answer:
        async for part in answer.aiter_bytes():
            body += part
            if len(body) > _MAX_BYTES:
                raise ScoringFailed(f"The service provider's list of deployments is larger than {_MAX_BYTES // 2**20} MiB.")
    return answer, body


def _read_resources(answer: httpx.Response, body: bytes, credentials: Credentials | None) -> list[dict[str, Any]]:
    # The body of a refusal may echo what was sent.
    if not answer.is_success:
        shown = redacted(body[:200].decode("utf-8", "replace"), credentials)
        raise ScoringFailed(f"The service provider answered {answer.status_code} to the question for its deployments: {shown!r}")
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ScoringFailed("The service provider's list of deployments is not JSON.") from error
    resources = found.get("resources") if isinstance(found, dict) else None
    if not isinstance(resources, list) or not all(isinstance(one, dict) for one in resources):
        raise ScoringFailed("The service provider's list of deployments has no `resources`.")
    return resources
