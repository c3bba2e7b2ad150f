"""Refuses everything but health and log-in to unknown callers, before a byte of the body is read.

A browser adds the session's cookie, and a key typed into its prompt (HTTP Basic), to every request to this
host, whichever page caused it; so a change with the cookie must say that a page of ours sent it. With Basic,
which curl sends too without naming a page, it must not say that another's did.
"""

import re
from collections.abc import Collection
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ...base.errors import EvenhandError, Forbidden, Unauthenticated
from ...web.problems import problem_response
from ..authenticator import Authenticator
from ..issuer import pending_log_ins as pending
from ..issuer.issuer_configuration import BACK_CHANNEL, CALLBACK
from ..principals import Principal
from ..users.browser_sessions import COOKIE, SECURE_COOKIE, TOKEN

LOG_IN = "/login"
ASSETS = "/assets/"

_OPEN = ("/health/", ASSETS)
LOG_INS = "/v1/log-ins"
OIDC_LOG_IN = f"{LOG_IN}/oidc"
_LOG_INS = frozenset({LOG_IN, LOG_INS, OIDC_LOG_IN, CALLBACK, BACK_CHANNEL})

_BROWSED = ("/docs", "/openapi.json")
_OF_PROGRAMS = ("/v1/", "/docs", "/openapi.json", "/metrics", "/health/")
_CHALLENGE = 'Basic realm="Evenhand: any name, an API key as the password", charset="UTF-8"'
"""Only where people browse."""

READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""


class KeyGate:
    """Stores the caller in the request's state, as `principal`."""

    def __init__(
        self, app: ASGIApp, *, authenticator: Authenticator, open_paths: Collection[str] = ()
    ) -> None:
        self._app = app
        self._open_paths = open_paths
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        _drop_other_cookies(scope)
        if is_open(scope["path"]) or scope["path"] in self._open_paths:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            principal = await self._authenticate(scope, headers)
        except EvenhandError as error:
            if isinstance(error, Unauthenticated) and (
                is_read_by_a_person(scope) or is_opened_by_a_person(scope)
            ):
                # As it was sent: a record's id may hold an encoded question mark.
                path, query = (scope[key].decode("latin-1") for key in ("raw_path", "query_string"))
                target = quote(f"{path}?{query}" if query else path, safe="")
                ended = "" if session_token(scope) is None else "&ended=true"
                await RedirectResponse(f"{LOG_IN}?next={target}{ended}", status_code=303)(
                    scope, receive, send
                )
                return
            response = problem_response(error, scope["state"]["request_id"])
            if isinstance(error, Unauthenticated) and scope["path"].startswith(_BROWSED):
                response.headers["WWW-Authenticate"] = _CHALLENGE
            await response(scope, receive, send)
            return
        scope["state"]["principal"] = principal
        await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope, headers: Headers) -> Principal:
        token = session_token(scope)
        if token is None or "authorization" in headers:
            authorization = headers.get("authorization")
            require_own_page(scope, authorization)
            return await self._authenticator.authenticate_async(authorization)
        if scope["method"] not in READING and not is_from_our_page(headers):
            raise Forbidden(
                "A browser's session may change things only from a page of this service. Programs send an "
                "API key instead."
            )
        return await self._authenticator.authenticate_session(token)


def require_own_page(scope: Scope, authorization: str | None) -> None:
    """Refuses a change that a page of another host made a browser send with HTTP Basic."""
    is_typed = (authorization or "").lstrip()[:5].lower() == "basic"
    if is_typed and scope["method"] not in READING and is_from_another_page(Headers(scope=scope)):
        raise Forbidden(
            "A page of another host sent this. A browser may change things here only from a page of this "
            "service."
        )


def is_open(path: str) -> bool:
    return path.startswith(_OPEN) or path in _LOG_INS


def is_of_programs(path: str) -> bool:
    return path.startswith(_OF_PROGRAMS)


def is_read_by_a_person(scope: Scope) -> bool:
    """Whether a browser asks for an address that is not the API's."""
    return not is_of_programs(scope["path"]) and "text/html" in Headers(scope=scope).get("accept", "")


def is_opened_by_a_person(scope: Scope) -> bool:
    """A browser would keep the log-in page under the name of a download."""
    headers, name = Headers(scope=scope), scope["path"].rpartition("/")[2]
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
    """The proxy's header needs no proof: a client that makes it up gets a cookie that it does not keep."""
    return "https" in {
        scope["scheme"],
        Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0].strip().lower(),
    }


def session_cookie(scope: Scope) -> str:
    """Over HTTPS browsers let only this host set it, and only over HTTPS."""
    return SECURE_COOKIE if is_over_https(scope) else COOKIE


def session_token(scope: Scope) -> str | None:
    """Cookies of other services on the host may have any form."""
    return _read_cookie(scope, session_cookie(scope), TOKEN)


def pending_cookie(scope: Scope) -> str:
    return pending.SECURE_COOKIE if is_over_https(scope) else pending.COOKIE


def pending_log_in(scope: Scope) -> str | None:
    return _read_cookie(scope, pending_cookie(scope), pending.COOKIE_FORM)


def _read_cookie(scope: Scope, cookie_name: str, form: re.Pattern[str]) -> str | None:
    sent = ";".join(Headers(scope=scope).getlist("cookie")).split(";")
    pairs = (text.strip().partition("=") for text in sent)
    values = [value for name, _, value in pairs if name == cookie_name and form.fullmatch(value)]
    return values[-1] if values else None


def _drop_other_cookies(scope: Scope) -> None:
    """FastAPI reads all cookies, and Python before 3.11.10 takes seconds for a long quoted one."""
    cookies = {session_cookie(scope): session_token(scope)}
    if scope["path"] == CALLBACK:
        cookies[pending_cookie(scope)] = pending_log_in(scope)
    kept_headers = [
        (b"cookie", f"{name}={value}".encode()) for name, value in cookies.items() if value is not None
    ]
    # In place: the outer layers find the route in this object.
    scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"] + kept_headers


def is_from_our_page(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    return origin is not None and _parse_host(origin) == headers.get("host")


def is_from_another_page(headers: Headers) -> bool:
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is not None and _parse_host(origin) != headers.get("host")


def _parse_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None
