"""Errors as pages: what happened, to what, what to do."""

from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.dashboard.rendering import page
from app.errors import EvenhandError, InvalidInput
from app.web.gate import is_read_by_a_person
from app.web.problems import KINDS, Kind, field_problems, kind_of, problem_response, response_of, unexpected_response


def install(pages: FastAPI) -> None:
    """Makes the application answer every error with a page, or with a problem document to what shows no pages."""
    pages.add_exception_handler(EvenhandError, _own)
    pages.add_exception_handler(RequestValidationError, _validation)
    pages.add_exception_handler(HTTPException, _http)
    pages.add_exception_handler(Exception, _unexpected)


def _own(request: Request, error: Exception) -> Response:
    if not isinstance(error, EvenhandError):
        return _unexpected(request, error)
    if not is_read_by_a_person(request.scope):
        return problem_response(error, _request_id(request))
    return _page(request, kind_of(error), str(error))


def _validation(request: Request, error: Exception) -> Response:
    items = error.errors() if isinstance(error, RequestValidationError) else ()
    return _own(request, InvalidInput(field_problems(items)))


def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    known = {kind.status: kind for kind in KINDS.values()}
    kind = known.get(status) or Kind(status, f"http-{status}", HTTPStatus(status).phrase)
    detail = f"There is nothing at {request.url.path}." if status == HTTPStatus.NOT_FOUND else HTTPStatus(status).phrase
    headers = dict(getattr(error, "headers", None) or {})
    response = response_of(kind, detail, _request_id(request)) if not is_read_by_a_person(request.scope) else _page(request, kind, detail)
    response.headers.update(headers)
    return response


def _unexpected(request: Request, _error: Exception) -> Response:
    """Says nothing of the inside; the middleware around it logs the traceback under the same request id."""
    if not is_read_by_a_person(request.scope):
        return unexpected_response(_request_id(request))
    kind = Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "internal-error", "Something failed here")
    return _page(request, kind, "This is our fault, not yours. The log has the details under the request id below.")


def _page(request: Request, kind: Kind, detail: str) -> Response:
    values = {"title": kind.title, "status": kind.status, "detail": detail, "request_id": _request_id(request)}
    return page(request, "failure.html", values, status=kind.status)


def _request_id(request: Request) -> str | None:
    found: str | None = request.scope.get("state", {}).get("request_id")
    return found
