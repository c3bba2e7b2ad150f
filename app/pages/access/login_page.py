"""Log-in and log-out by password or API key."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.responses import Response

from ...access.authenticator import is_from_own_page
from ...access.gate.caller import Services, ServicesIn
from ...access.gate.gate import LOG_IN, is_over_https, name_session_cookie, read_session_token
from ...access.users import browser_sessions as sessions
from ...base.errors import EvenhandError, Forbidden, Unauthenticated
from ...web.middleware import name_client
from ...web.problems import find_kind
from ..render import show_page

router = APIRouter(include_in_schema=False)

_MAX_FIELD_CHARACTERS = 500
_MAX_PATH_CHARACTERS = 4_000
Field = Annotated[str, Form(max_length=_MAX_FIELD_CHARACTERS)]


@router.get(LOG_IN)
def show_log_in_page(
    request: Request,
    services: ServicesIn,
    next_path: Annotated[str, Query(alias="next")] = "/",
    *,
    ended: bool = False,
) -> Response:
    return show_page(request, "login.html", list_log_in_values(services, next_path) | {"ended": ended})


def list_log_in_values(services: Services, next_path: str) -> dict[str, Any]:
    return {
        "next": choose_own_path(next_path),
        "name": "",
        "problem": None,
        "ended": False,
        "has_issuer": services.oidc is not None,
    }


@router.post(LOG_IN)
async def log_in(
    request: Request,
    services: ServicesIn,
    *,
    name: Field = "",
    password: Field = "",
    key: Field = "",
    next_path: Annotated[str, Form(alias="next")] = "/",
) -> Response:
    address = _read_address(request)
    try:
        if not is_from_own_page(request.headers):
            raise Forbidden("This form was sent from somewhere else. Open this page again and log in here.")
        if key := key.strip():
            async with services.log_ins.turn(name_client(address)):
                token = await run_in_threadpool(_log_in_with_key, services, key, address=address)
        else:
            token = await services.log_in(name.strip(), password, address=address)
    except EvenhandError as error:
        return refuse_log_in(request, services, next_path, error, name)
    return redirect_logged_in(
        request, token, choose_own_path(next_path), seconds=int(sessions.SESSION_LIFETIME.total_seconds())
    )


def refuse_log_in(
    request: Request, services: Services, path: str, error: EvenhandError, name: str = ""
) -> Response:
    values = list_log_in_values(services, path) | {"name": name, "problem": str(error)}
    return show_page(request, "login.html", values, status=find_kind(error).status)


def redirect_logged_in(request: Request, token: str, path: str, *, seconds: int) -> Response:
    response = RedirectResponse(path, status_code=HTTPStatus.SEE_OTHER)
    response.set_cookie(
        name_session_cookie(request.scope),
        token,
        max_age=seconds,
        httponly=True,
        secure=is_over_https(request.scope),
        samesite="lax",
    )
    return response


@router.post("/logout")
async def log_out(
    request: Request, services: ServicesIn, *, everywhere: Annotated[bool, Form()] = False
) -> Response:
    """Ends the session, or all of the person or key.

    Where it was begun at the issuer, the page shows the address that ends the log-in there.
    """
    token = read_session_token(request.scope)
    issuer = None
    if token is not None:
        if services.oidc is not None:
            issuer = await services.oidc.find_log_out_address(token)
        await run_in_threadpool(_end_sessions, services, token, request, everywhere=everywhere)
        services.authenticator.forget_session(token)
    if issuer is None:
        response: Response = RedirectResponse(LOG_IN, status_code=HTTPStatus.SEE_OTHER)
    else:
        # A link and no redirect: browsers hold redirects after a form to the form's rule, this host only.
        request.scope["state"]["principal"] = None
        response = show_page(request, "logged_out.html", {"at_issuer": issuer})
    response.delete_cookie(
        name_session_cookie(request.scope), httponly=True, secure=is_over_https(request.scope), samesite="lax"
    )
    return response


def _end_sessions(services: Services, token: str, request: Request, *, everywhere: bool) -> None:
    end = sessions.log_out_everywhere if everywhere else sessions.log_out
    with services.database.transaction() as session:
        end(session, token, request.state.principal, address=_read_address(request))


def _log_in_with_key(services: Services, key: str, *, address: str) -> str:
    # A key cannot be guessed, so failures are not counted: that would lock out people who share the address.
    try:
        with services.database.transaction() as session:
            return sessions.log_in_with_key(session, key, address=address)
    except (Forbidden, Unauthenticated):
        services.failed_log_ins.note("", method=sessions.KEY, address=address)
        raise


def choose_own_path(path: str) -> str:
    """Returns the path to continue at if it is one of this service, never of another host; else `/`."""
    is_own = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_own and len(path) <= _MAX_PATH_CHARACTERS else "/"


def _read_address(request: Request) -> str:
    address: str = request.state.client_address
    return address
