"""Errors as pages."""

from collections.abc import Sequence
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import EvenhandError, FieldProblem, InvalidInput
from ..web.gate import is_read_by_a_person
from ..web.problems import KINDS, ProblemKind, address_refusal, field_problems, kind_of, problem_response, response_of, unexpected_response
from .rendering import page


def install(pages: FastAPI) -> None:
    """Answers every error with a page, or with a problem document to what shows no pages."""
    pages.add_exception_handler(EvenhandError, _answer_own)
    pages.add_exception_handler(RequestValidationError, _answer_own)
    pages.add_exception_handler(HTTPException, _answer_http)
    pages.add_exception_handler(Exception, _answer_unexpected)


def _answer_own(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = InvalidInput(field_problems(error.errors()))
    if not isinstance(error, EvenhandError):
        return _answer_unexpected(request, error)
    if not is_read_by_a_person(request.scope):
        return problem_response(error, _request_id(request))
    return _page(request, kind_of(error), str(error), error.problems if isinstance(error, InvalidInput) else ())


def _answer_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    known = {kind.status: kind for kind in KINDS.values()}
    kind = known.get(status) or ProblemKind(status, f"http-{status}", HTTPStatus(status).phrase)
    headers = dict(getattr(error, "headers", None) or {})
    detail = address_refusal(request, status, headers.get("Allow", "")) or HTTPStatus(status).phrase
    response = response_of(kind, detail, _request_id(request)) if not is_read_by_a_person(request.scope) else _page(request, kind, detail)
    response.headers.update(headers)
    return response


def _answer_unexpected(request: Request, _error: Exception) -> Response:
    """Shows no internal details; the middleware logs the traceback under the request id."""
    if not is_read_by_a_person(request.scope):
        return unexpected_response(_request_id(request))
    kind = ProblemKind(HTTPStatus.INTERNAL_SERVER_ERROR, "internal-error", "Something failed here")
    return _page(request, kind, "This is our fault, not yours. The log has the details under the request id below.")


def _page(request: Request, kind: ProblemKind, detail: str, problems: Sequence[FieldProblem] = ()) -> Response:
    values = {
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "problems": problems,
        "method": request.method,
        "request_id": _request_id(request),
    }
    return page(request, "failure.html", values, status=kind.status)


def _request_id(request: Request) -> str | None:
    found: str | None = request.scope.get("state", {}).get("request_id")
    return found
