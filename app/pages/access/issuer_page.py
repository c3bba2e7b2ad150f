"""Log-in of people at the issuer."""

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse
from starlette.responses import Response

from ...access.gate.caller import NowIn, ServicesIn
from ...access.gate.gate import OIDC_LOG_IN, is_over_https, name_pending_cookie, read_pending_log_in
from ...access.issuer.issuer_log_in import PENDING_LIFETIME, CallbackIn
from ...access.issuer.verify_token import BACK_CHANNEL, CALLBACK, MAX_TOKEN_CHARACTERS
from ...base.errors import EvenhandError, NotFound, Unauthenticated
from ...web.middleware import name_client
from .login_page import choose_own_path, redirect_logged_in, refuse_log_in

router = APIRouter(include_in_schema=False)

_IssuerParameter = Annotated[str, Query(max_length=4096)]


@router.get(OIDC_LOG_IN)
async def begin_log_in(
    request: Request, services: ServicesIn, now: NowIn, next_path: Annotated[str, Query(alias="next")] = "/"
) -> Response:
    """Sends the browser to the issuer, with the log-in sealed in a cookie."""
    if services.oidc is None:
        raise NotFound("page", OIDC_LOG_IN)
    try:
        address, cookie = await services.oidc.begin(choose_own_path(next_path), now=now)
    except EvenhandError as error:
        return refuse_log_in(request, services, next_path, error)
    response = RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)
    response.set_cookie(
        name_pending_cookie(request.scope),
        cookie,
        max_age=int(PENDING_LIFETIME.total_seconds()),
        httponly=True,
        secure=is_over_https(request.scope),
        # Not strict: the issuer's page leads back here.
        samesite="lax",
    )
    return response


@router.post(BACK_CHANNEL)
async def end_by_issuer(
    request: Request,
    services: ServicesIn,
    *,
    logout_token: Annotated[str, Form(max_length=MAX_TOKEN_CHARACTERS)],
) -> Response:
    if services.oidc is None:
        raise NotFound("page", BACK_CHANNEL)
    address: str = request.state.client_address
    try:
        await services.oidc.end_by_issuer(logout_token, address=address, client=name_client(address))
    except Unauthenticated as refused:
        # The form that section 2.8 of the specification wants.
        body = {"error": "invalid_request", "error_description": str(refused)}
        return JSONResponse(body, status_code=HTTPStatus.BAD_REQUEST, headers={"Cache-Control": "no-store"})
    return Response(status_code=HTTPStatus.OK, headers={"Cache-Control": "no-store"})


@router.get(CALLBACK)
async def end_log_in(
    request: Request,
    services: ServicesIn,
    now: NowIn,
    *,
    code: _IssuerParameter = "",
    state: _IssuerParameter = "",
    error: _IssuerParameter = "",
    iss: _IssuerParameter = "",
    error_description: _IssuerParameter = "",  # noqa: ARG001 - anybody can write it into the address, so it is not shown
    error_uri: _IssuerParameter = "",  # noqa: ARG001 - likewise
    session_state: _IssuerParameter = "",  # noqa: ARG001 - sent by Keycloak and Entra ID
    scope: _IssuerParameter = "",  # noqa: ARG001 - sent by Google
    authuser: _IssuerParameter = "",  # noqa: ARG001 - likewise
    hd: _IssuerParameter = "",  # noqa: ARG001 - likewise
    prompt: _IssuerParameter = "",  # noqa: ARG001 - likewise
) -> Response:
    if services.oidc is None:
        raise NotFound("page", CALLBACK)
    address: str = request.state.client_address
    callback = CallbackIn(code=code, state=state, error=error, issuer=iss)
    try:
        token, path = await services.oidc.end(
            callback,
            read_pending_log_in(request.scope),
            now=now,
            address=address,
            client=name_client(address),
        )
    except EvenhandError as refused:
        response = refuse_log_in(request, services, "/", refused)
    else:
        response = redirect_logged_in(
            request, token, choose_own_path(path), seconds=services.oidc.session_seconds
        )
    response.delete_cookie(
        name_pending_cookie(request.scope), httponly=True, secure=is_over_https(request.scope), samesite="lax"
    )
    return response
