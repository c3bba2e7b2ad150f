"""Entry point of a face: a distribution that answers the programs of another product by calls of REST v1.

Where a package of `FACES` is installed, its `mount` is called with an `Entry` and returns a `Face`. Requests
pass the same layers as all others; then calls of REST v1 are made as the caller and leave no second line in
the log or the audit. A face must not call REST v1 within a transaction: enough of them at once would wait for
each other's connections. What it stores is in `openscale_facts`; its secrets are sealed with the others.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import unquote, urlencode

import httpx
from fastapi import FastAPI, Request
from sqlalchemy.orm import Session
from starlette.routing import Router
from starlette.types import ASGIApp, Message, Receive, Scope

from .access.gate.caller import IS_INNER, Services
from .base.errors import EndpointRefused, InvalidInput, ScoringFailed
from .base.values import frozen_by_name
from .calls.call_failures import CallFailure
from .calls.credentials import (
    TokenSource,
    build_auth_header,
    encode_header,
    make_bearer_credentials,
    read_body,
    redact,
)
from .calls.egress_policy import check_url
from .calls.pinned_transport import PinnedTransport
from .database.reseal import begin_sealing
from .domain.deployment import Credentials, CredentialsKind
from .web import problems

FACES = ("evenhand_openscale",)

OUTGOING_SECONDS = 20.0
MAX_OUTGOING_BYTES = 4 * 2**20

_FORWARDED_HEADERS = frozenset(
    {
        b"authorization",
        b"content-type",
        b"content-encoding",
        b"x-forwarded-for",
        b"traceparent",
        b"user-agent",
    }
)
_HOT_ROUTES = ("/payload-records", "/feedback-records")

Result = TypeVar("Result")


@frozen_by_name
class Face:
    """A mounted face.

    `app` answers addresses that begin with `prefixes`; `open_paths` need no key. `is_upload` tells requests
    whose body REST v1 bounds and counts. `wrap` is put around the whole service, and sees refusals of the
    gate, too.
    """

    app: ASGIApp
    prefixes: tuple[str, ...]
    open_paths: frozenset[str]
    is_upload: Callable[[Scope], bool]
    wrap: Callable[[ASGIApp], ASGIApp]


@dataclass(slots=True)
class CallAnswer:
    """An answer of REST v1; one of 400 and above is a problem document."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def json(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.body) if self.body else None

    async def receive(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {
                name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]
            }
        else:
            self.body += message.get("body", b"")


@dataclass
class Entry:
    """Part of the service that a face may use."""

    services: Services
    _api: ASGIApp | None = None
    _service: ASGIApp | None = None

    def connect(self, *, api: ASGIApp, service: ASGIApp) -> None:
        self._api, self._service = api, service

    def install(self, app: FastAPI) -> None:
        problems.install(app)

    async def call(
        self,
        request: Request,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        content: bytes | Receive = b"",
        headers: Mapping[str, str] | None = None,
    ) -> CallAnswer:
        """Calls REST v1 in the name of another request.

        `path` is percent-encoded. `content` is the body, or the `receive` of the outer request. Calls for a
        request that needed no key pass the gate with the `authorization` in `headers`.
        """
        state = request.scope["state"]
        is_authenticated = "principal" in state
        call_headers = {name: value for name, value in request.scope["headers"] if name in _FORWARDED_HEADERS}
        call_headers |= {name.encode(): value.encode("latin-1") for name, value in (headers or {}).items()}
        call_headers[b"x-request-id"] = state["request_id"].encode("latin-1")
        if isinstance(content, bytes):
            call_headers[b"content-length"] = b"%d" % len(content)
            messages = iter([{"type": "http.request", "body": content, "more_body": False}])
        elif b"content-length" in (request_headers := dict(request.scope["headers"])):
            call_headers[b"content-length"] = request_headers[b"content-length"]

        async def receive() -> Message:
            return (
                next(messages, {"type": "http.disconnect"}) if isinstance(content, bytes) else await content()
            )

        scope = {
            **{
                name: request.scope.get(name)
                for name in ("type", "asgi", "http_version", "scheme", "client", "server")
            },
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": urlencode(query or {}, doseq=True).encode(),
            "headers": list(call_headers.items()),
            "state": {**state, IS_INNER: True} if is_authenticated else {},
        }
        is_hot = method == "POST" and path.endswith(_HOT_ROUTES)
        app = self._api if is_authenticated and not is_hot else self._service
        assert app is not None, "the entry is not connected"  # noqa: S101 - a fault of ours
        answer = CallAnswer()
        await app(scope, receive, answer.receive)
        return answer

    async def transact(self, work: Callable[[Session], Result]) -> Result:
        """`work` must not call REST v1."""

        def run() -> Result:
            with self.services.database.transaction() as session:
                return work(session)

        async with self.services.turns:
            return await asyncio.to_thread(run)

    def seal(self, session: Session, plain: bytes) -> bytes:
        begin_sealing(session)
        return self.services.secret_box.seal(plain)

    def unseal(self, sealed: bytes) -> bytes:
        return self.services.secret_box.unseal(sealed)

    async def outgoing(
        self, url: str, *, field: str, credentials: Mapping[str, Any] | None, headers: Mapping[str, str]
    ) -> bytes:
        """Reads the body that another service answers to GET, under the operator's rules for addresses.

        `credentials` are those of an endpoint in REST v1. `field` names the address in a refusal. Raises
        InvalidInput and ScoringFailed.
        """
        policy = self.services.policy
        try:
            check_url(url, policy)
        except EndpointRefused as error:
            raise InvalidInput(field, str(error)) from error
        own_credentials = (
            None
            if credentials is None
            else Credentials(**{**credentials, "kind": CredentialsKind(credentials["kind"])})
        )
        transport = PinnedTransport(policy, connections=1)
        host = httpx.URL(url).host
        try:
            async with (
                asyncio.timeout(OUTGOING_SECONDS),
                httpx.AsyncClient(
                    transport=transport, timeout=OUTGOING_SECONDS, follow_redirects=False
                ) as client,
            ):
                token_credentials = await _exchange(own_credentials, transport)
                own_headers = [encode_header(name, value) for name, value in headers.items()]
                return await _read(
                    client, url, [*build_auth_header(token_credentials), *own_headers], token_credentials
                )
        except (httpx.HTTPError, TimeoutError) as error:
            raise ScoringFailed(f"The service at {host} did not answer. Look at its server.") from error


NO_FACE = Face(
    app=Router(),
    prefixes=(),
    open_paths=frozenset(),
    is_upload=lambda _scope: False,
    wrap=lambda service: service,
)


def mount_face(services: Services) -> tuple[Face, Entry]:
    """Mounts the installed face; returns it, and its entry, not yet connected."""
    entry = Entry(services)
    name = next((name for name in FACES if find_spec(name) is not None), None)
    return NO_FACE if name is None else Face(**import_module(name).mount(entry)), entry


async def _exchange(
    credentials: Credentials | None, transport: httpx.AsyncBaseTransport
) -> Credentials | None:
    if credentials is None or not credentials.kind.has_token_url:
        return credentials
    source = TokenSource(credentials)
    # A new one: the token that is kept may have been revoked.
    source.forget(source.known() or "")
    token = await source.token(transport)
    if isinstance(token, CallFailure):
        raise ScoringFailed(f"The service {token.what}. {token.advice}")
    return make_bearer_credentials(token)


async def _read(
    client: httpx.AsyncClient,
    url: str,
    headers: Sequence[tuple[bytes, bytes]],
    credentials: Credentials | None,
) -> bytes:
    async with client.stream("GET", url, headers=list(headers)) as answer:
        body, is_complete = await read_body(answer, MAX_OUTGOING_BYTES)
    if not is_complete:
        raise ScoringFailed(f"The answer of the service is larger than {MAX_OUTGOING_BYTES // 2**20} MiB.")
    if not answer.is_success:
        # The body of a refusal may echo what was sent.
        excerpt = redact(body[:200].decode("utf-8", "replace"), credentials)
        raise ScoringFailed(f"The service answered {answer.status_code}: {excerpt!r}")
    return body
