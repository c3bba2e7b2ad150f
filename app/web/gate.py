"""The gate: everything but the health routes is refused to whoever shows no key of ours, before a byte of the body is read."""

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import EvenhandError, Unauthenticated
from app.security.authenticator import Authenticator
from app.web.problems import problem_response

_OPEN = "/health/"
_BROWSED = ("/docs", "/openapi.json")
_CHALLENGE = 'Basic realm="Evenhand: any name, an API key as the password", charset="UTF-8"'
"""Makes a browser ask for the key by its own log-in prompt. Only where people browse: programs are asked for a Bearer token."""


class KeyGate:
    """Leaves the holder of the key in the request's state, as `principal`."""

    def __init__(self, app: ASGIApp, *, authenticator: Authenticator) -> None:
        self._app = app
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on if it is open to everybody or comes with a key."""
        if scope["type"] != "http" or scope["path"].startswith(_OPEN):
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._authenticator.authenticate_async(Headers(scope=scope).get("authorization"))
        except EvenhandError as error:
            response = problem_response(error, scope["state"]["request_id"])
            if isinstance(error, Unauthenticated) and scope["path"].startswith(_BROWSED):
                response.headers["WWW-Authenticate"] = _CHALLENGE
            await response(scope, receive, send)
            return
        scope["state"]["principal"] = principal
        await self._app(scope, receive, send)
