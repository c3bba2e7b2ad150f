"""The class of the routes that programs call all the time.

Plain ASGI: a framework's route costs more than the durable write, and a log line as much as the record.
"""

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from ...access.authenticator import require_own_page
from ...access.gate.caller import Services
from ...access.principals import Permission, Principal
from ...base.clock import monotonic_seconds
from ...base.errors import EvenhandError
from ...base.telemetry.prometheus import http_requests, http_seconds
from ...base.turns import Room
from ...base.values import frozen_by_name
from ...web.middleware import SAFE_HEADERS, SANE_REQUEST_ID
from ...web.problems import problem_response, refuse_other_methods, unexpected_response
from ..logging.decode_body import MAX_BODY_BYTES, build_size_error

PREFIX = "/v1/deployments/"

MAX_BYTES_AT_ONCE = 8 * MAX_BODY_BYTES

MAX_BYTES_OF_KEY = 2 * MAX_BODY_BYTES

_SAFE_HEADERS = [(name.encode(), value.encode()) for name, value in SAFE_HEADERS.items()]
_PROCESS_PREFIX = os.urandom(8).hex()
_request_numbers = itertools.count()

log = structlog.get_logger("evenhand.http")


class ClientGone(Exception):
    """Raised where the connection ends before the whole body has come."""


class Bodies:
    """Bounds the bytes of bodies that are in memory: of all callers, and of each key."""

    def __init__(self, bytes_at_once: int = MAX_BYTES_AT_ONCE, bytes_of_key: int = MAX_BYTES_OF_KEY) -> None:
        self._room = Room(
            bytes_at_once,
            each=bytes_of_key,
            busy="Too much is being received already. Send the records again in a moment.",
            busy_each=f"This key is sending more than {bytes_of_key // 2**20} MiB at once. Wait for "
            "answers, then send the records again.",
        )

    @asynccontextmanager
    async def hold(self, receive: Receive, announced: bytes, actor: str) -> AsyncIterator[bytes]:
        """Receives a body, which counts until the block ends; `announced` is its Content-Length.

        Raises TooLarge, Unavailable if too much is in memory, ClientGone.
        """
        if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
            raise build_size_error()
        chunks = []
        size, has_more = 0, True
        try:
            while has_more:
                message = await receive()
                chunk = message.get("body", b"")
                chunks.append(chunk)
                size += len(chunk)
                self._room.take(actor, len(chunk))
                has_more = message.get("more_body", False)
                # A body of one message is small.
                if has_more or len(chunks) > 1 or message["type"] == "http.disconnect":
                    self._require_room(message, size, actor)
            yield b"".join(chunks)
        # Also after a cancellation: else the key would be shut out until a restart.
        finally:
            self._room.give_back(actor, size)

    def _require_room(self, message: Message, size: int, actor: str) -> None:
        if message["type"] == "http.disconnect":
            raise ClientGone
        if size > MAX_BODY_BYTES:
            raise build_size_error()
        self._room.require(actor)


@frozen_by_name
class HotRequest:
    id: str
    deployment_id: str
    headers: Mapping[bytes, bytes]
    scope: Scope
    receive: Receive
    send: Send

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class HotRoute(ABC):
    """A route with its own log-in, limits of bodies, and answers to errors."""

    other_methods: str | None = None
    """Refusal of methods other than POST; None where they are another route's."""

    def __init__(self, services: Services, name: str, bodies: Bodies) -> None:
        self._authenticator = services.authenticator
        self._limits = services.limits
        self._bodies = bodies
        self._template = f"{PREFIX}{{deployment_id}}/{name}"

    async def respond(self, deployment_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        began = monotonic_seconds()
        headers = dict(scope["headers"])
        sent_id = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = (
            sent_id
            if SANE_REQUEST_ID.fullmatch(sent_id)
            else f"{_PROCESS_PREFIX}{next(_request_numbers):016x}"
        )
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", request_id.encode("latin-1")),
                    *_SAFE_HEADERS,
                ]
            await send(message)

        if scope["method"] != "POST":
            await refuse_other_methods(self.other_methods or "", request_id)(
                scope, receive, send_with_headers
            )
            return
        request = HotRequest(
            id=request_id,
            deployment_id=deployment_id,
            headers=headers,
            scope=scope,
            receive=receive,
            send=send_with_headers,
        )
        try:
            response = await self._answer(request)
        except ClientGone:
            return
        except EvenhandError as error:
            if status:
                raise  # closes the connection: the answer has begun
            response = problem_response(error, request_id)
        except Exception:  # an unforeseen error is logged once, and answered
            log.exception("request failed", method="POST", route=self._template, request_id=request_id)
            if status:
                raise
            response = unexpected_response(request_id)
        if response is not None:
            await response(scope, receive, send_with_headers)
        http_requests.labels("POST", self._template, str(status)).inc()
        http_seconds.labels(self._template).observe(monotonic_seconds() - began)

    @abstractmethod
    async def _answer(self, request: HotRequest) -> Response | None:
        """Answers the request; None if the answer was sent already. Raises EvenhandError, ClientGone."""

    def _hold_body(self, request: HotRequest, actor: str) -> AbstractAsyncContextManager[bytes]:
        """Receives the body by `Bodies.hold`, and raises as that does."""
        return self._bodies.hold(request.receive, request.headers.get(b"content-length", b""), actor)

    async def _find_logger(self, request: HotRequest) -> Principal:
        """Finds the caller, who may log somewhere. Raises Unauthenticated, Forbidden, Unavailable."""
        authorization = request.header(b"authorization") or None
        require_own_page(request.scope, authorization)
        principal = await self._authenticate(authorization)
        principal.require_somewhere(Permission.LOG)
        return principal

    async def _authenticate(self, authorization: str | None) -> Principal:
        return await self._authenticator.authenticate(authorization)
