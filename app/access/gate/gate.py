"""Checks the key, before a byte of the body is read, and audits every request but those of hot routes."""

import asyncio
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from urllib.parse import quote

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...base.errors import EvenhandError, Forbidden, Unauthenticated, Unavailable
from ...web.problems import problem_response
from ..audit.event_queries import ORIGIN
from ..authenticator import READING_METHODS, is_from_own_page, require_own_page
from ..failed_log_ins import FailureBudget
from ..issuer.issuer_log_in import PENDING_COOKIE, PENDING_FORM
from ..issuer.verify_token import BACK_CHANNEL, CALLBACK
from ..principals import Principal
from ..users.browser_sessions import SESSION_COOKIE, TOKEN_FORM
from .caller import (
    MADE,
    READ,
    UNAUTHENTICATED,
    RequestOrigin,
    Services,
    insert_request_event,
    list_request_details,
)

LOG_IN = "/login"
ASSETS = "/assets/"

_OPEN_PREFIXES = ("/health/", ASSETS)
LOG_INS = "/v1/log-ins"
OIDC_LOG_IN = f"{LOG_IN}/oidc"
_LOG_IN_PATHS = frozenset({LOG_IN, LOG_INS, OIDC_LOG_IN, CALLBACK, BACK_CHANNEL})

_BROWSED_PREFIXES = ("/docs", "/openapi.json")
_PROGRAM_PREFIXES = ("/v1/", "/docs", "/openapi.json", "/metrics", "/health/")
_CHALLENGE = 'Basic realm="Evenhand: any name, an API key as the password", charset="UTF-8"'

log = structlog.get_logger("evenhand.audit")


@dataclass
class Gate:
    """Stores the caller as `principal` in the request's state. An answer without its audit event is not sent."""

    app: ASGIApp
    services: Services
    is_unaudited: Callable[[Scope], bool]
    open_paths: Collection[str]
    _budget: FailureBudget = field(default_factory=FailureBudget)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        _drop_other_cookies(scope)
        # Log-ins leave events of their own, with the name that was tried.
        if is_open(scope["path"]) or scope["path"] in self.open_paths:
            await self.app(scope, receive, send)
            return
        if self.is_unaudited(scope):
            await self._let_in(scope, receive, send)
            return
        origin = RequestOrigin(scope)
        is_replaced = False

        async def send_noted(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start":
                is_replaced = not await self._is_noted(origin, message["status"])
                if is_replaced:
                    error = Unavailable(
                        "The audit event of this request could not be stored, so its answer is withheld. "
                        "Try again in a moment."
                    )
                    await problem_response(error, origin.request_id)(scope, receive, send)
            if not is_replaced:
                await send(message)

        token = ORIGIN.set(origin)
        try:
            await self._let_in(scope, receive, send_noted)
        finally:
            ORIGIN.reset(token)

    async def _is_noted(self, origin: RequestOrigin, status: int) -> bool:
        """True if the answer may be sent: its event is stored, or it is a refusal, which reveals nothing."""
        action = origin.find_action(status)
        if action is None:
            return True
        details = list_request_details(origin.scope) | {"status": status}
        if action == UNAUTHENTICATED:
            left_out = self._budget.admit()
            if left_out is None:
                return True
            details["failures_left_out"] = left_out

        def insert() -> None:
            with self.services.database.transaction() as session:
                insert_request_event(session, origin, action, details)

        try:
            async with self.services.turns:
                await asyncio.to_thread(insert)
        except (Unavailable, SQLAlchemyError) as error:
            log.warning("audit_event_lost", action=action, status=status, error=str(error))
            return action not in (READ, MADE)
        return True

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            scope["state"]["principal"] = await self._authenticate(scope)
        except EvenhandError as error:
            await _refuse(scope, error)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> Principal:
        headers = Headers(scope=scope)
        token = read_session_token(scope)
        authorization = headers.get("authorization")
        if token is not None and authorization is None:
            if scope["method"] not in READING_METHODS and not is_from_own_page(headers):
                raise Forbidden(
                    "A browser's session may change things only from a page of this service. Programs send "
                    "an API key instead."
                )
            authorization = f"Bearer {token}"
        require_own_page(scope, authorization)
        return await self.services.authenticator.authenticate(authorization)


def _refuse(scope: Scope, error: EvenhandError) -> Response:
    is_unknown = isinstance(error, Unauthenticated)
    if is_unknown and (is_read_by_a_person(scope) or is_opened_by_a_person(scope)):
        # As it was sent: a record's id may hold an encoded question mark.
        path, query = (scope[key].decode("latin-1") for key in ("raw_path", "query_string"))
        target = quote(f"{path}?{query}" if query else path, safe="")
        ended = "" if read_session_token(scope) is None else "&ended=true"
        return RedirectResponse(f"{LOG_IN}?next={target}{ended}", status_code=303)
    response = problem_response(error, scope["state"]["request_id"])
    if is_unknown and scope["path"].startswith(_BROWSED_PREFIXES):
        response.headers["WWW-Authenticate"] = _CHALLENGE
    return response


def is_open(path: str) -> bool:
    return path.startswith(_OPEN_PREFIXES) or path in _LOG_IN_PATHS


def is_of_programs(path: str) -> bool:
    return path.startswith(_PROGRAM_PREFIXES)


def is_read_by_a_person(scope: Scope) -> bool:
    return not is_of_programs(scope["path"]) and "text/html" in Headers(scope=scope).get("accept", "")


def is_opened_by_a_person(scope: Scope) -> bool:
    """Of pages below /v1, but not of downloads: a browser would keep the log-in page under the file's name."""
    headers = Headers(scope=scope)
    name = scope["path"].rpartition("/")[2]
    is_page = headers.get("sec-fetch-mode") == "navigate" and "text/html" in headers.get("accept", "")
    is_shown = "." not in name or name.endswith(".html")
    return (
        scope["method"] == "GET"
        and scope["path"].startswith("/v1/")
        and is_page
        and is_shown
        and "authorization" not in headers
    )


def is_over_https(scope: Scope) -> bool:
    """Also by the proxy's header: a client that makes it up gets a cookie that it does not keep."""
    return "https" in {
        scope["scheme"],
        Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0].strip().lower(),
    }


def name_session_cookie(scope: Scope) -> str:
    """With `__Host-` browsers let only this host set the cookie, over HTTPS."""
    return f"__Host-{SESSION_COOKIE}" if is_over_https(scope) else SESSION_COOKIE


def read_session_token(scope: Scope) -> str | None:
    return _read_cookie(scope, name_session_cookie(scope), TOKEN_FORM)


def name_pending_cookie(scope: Scope) -> str:
    return f"__Host-{PENDING_COOKIE}" if is_over_https(scope) else PENDING_COOKIE


def read_pending_log_in(scope: Scope) -> str | None:
    return _read_cookie(scope, name_pending_cookie(scope), PENDING_FORM)


def _read_cookie(scope: Scope, cookie_name: str, form: re.Pattern[str]) -> str | None:
    cookies = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
    pairs = (text.strip().partition("=") for text in cookies)
    values = [value for name, _, value in pairs if name == cookie_name and form.fullmatch(value)]
    return values[-1] if values else None


CLOCK_COOKIE = "clock"
"""Zone of the times of pages, with a dot for its slash, which would be quoted."""

_CLOCK_FORM = re.compile(r"[A-Za-z0-9_+.-]{1,64}")


def _drop_other_cookies(scope: Scope) -> None:
    """FastAPI reads all cookies, and Python before 3.11.10 takes seconds for a long one."""
    cookies = {
        name_session_cookie(scope): read_session_token(scope),
        CLOCK_COOKIE: _read_cookie(scope, CLOCK_COOKIE, _CLOCK_FORM),
    }
    if scope["path"] == CALLBACK:
        cookies[name_pending_cookie(scope)] = read_pending_log_in(scope)
    cookie_headers = [
        (b"cookie", f"{name}={value}".encode()) for name, value in cookies.items() if value is not None
    ]
    # In place: the outer layers find the route in this object.
    scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"] + cookie_headers
