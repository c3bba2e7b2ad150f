"""Log in with a user name and password or with an API key; log out."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from app.dashboard.rendering import page
from app.errors import EvenhandError, Forbidden, Unauthenticated
from app.security import sessions
from app.services import Services
from app.store.sessions import end
from app.web.access import ServicesIn
from app.web.gate import LOG_IN, is_from_our_page, is_over_https, session_cookie, session_token
from app.web.problems import kind_of

router = APIRouter(include_in_schema=False)

_LONGEST = 500
_LONGEST_PATH = 4_000
Field = Annotated[str, Form(max_length=_LONGEST)]


@router.get(LOG_IN)
def log_in_page(request: Request, next: str = "/") -> Response:  # noqa: A002 - the name in the address
    """The form."""
    return page(request, "login.html", {"next": _own_path(next), "name": "", "problem": None})


@router.post(LOG_IN)
def log_in(
    request: Request,
    services: ServicesIn,
    *,
    name: Field = "",
    password: Field = "",
    key: Field = "",
    next: Annotated[str, Form()] = "/",  # noqa: A002 - the name in the form
) -> Response:
    """Begins a session and leads on to the page that was asked for; or shows the form again with what was wrong."""
    try:
        if not is_from_our_page(request.headers):
            raise Forbidden("This form was sent from somewhere else. Open this page again and log in here.")
        token = _new_session(services, name=name.strip(), password=password, key=key.strip(), address=_address(request))
    except EvenhandError as error:
        values = {"next": _own_path(next), "name": name, "problem": str(error)}
        return page(request, "login.html", values, status=kind_of(error).status)
    response = RedirectResponse(_own_path(next), status_code=HTTPStatus.SEE_OTHER)
    response.set_cookie(
        session_cookie(request.scope),
        token,
        max_age=int(sessions.LASTS.total_seconds()),
        httponly=True,
        secure=is_over_https(request.scope),
        samesite="lax",
    )
    return response


@router.post("/logout")
def log_out(request: Request, services: ServicesIn) -> Response:
    """Ends the session."""
    token = session_token(request.scope)
    if token is not None:
        with services.database.transaction() as session:
            end(session, sessions.token_hash(token))
        services.authenticator.forget_session(token)
    response = RedirectResponse(LOG_IN, status_code=HTTPStatus.SEE_OTHER)
    response.delete_cookie(session_cookie(request.scope), httponly=True, secure=is_over_https(request.scope), samesite="lax")
    return response


def _new_session(services: Services, *, name: str, password: str, key: str, address: str) -> str:
    if key:  # cannot be guessed, so failures are not counted: they would only shut out who shares the address
        with services.database.transaction() as session:
            return sessions.log_in_with_key(session, key)
    services.throttle.admit(name, address)
    try:
        token = sessions.log_in_with_password(services.database, name, password)
    except Unauthenticated:
        services.throttle.failed(name, address)
        raise
    services.throttle.succeeded(name, address)
    return token


def _own_path(sent: str) -> str:
    """Where to go on: a path of this service, never another host."""
    is_own = sent.startswith("/") and not sent.startswith("//") and "\\" not in sent and sent.isprintable()
    return sent if is_own and len(sent) <= _LONGEST_PATH else "/"


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
