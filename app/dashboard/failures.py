"""Errors as pages."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..errors import EvenhandError, FieldProblem, InvalidInput
from ..web.gate import is_read_by_a_person
from ..web.problems import KINDS, ProblemKind, field_problems, kind_of, problem_response, response_of, unexpected_response
from .rendering import page

_WORDS = {
    "enum": "is none of {expected}",
    "literal_error": "is none of {expected}",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "greater_than": "must be more than {gt}",
    "less_than": "must be less than {lt}",
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "is not of the form that is expected here",
    "too_long": "may be given at most {max_length} times",
}
"""Words for findings in an address, by Pydantic's type."""


def install(pages: FastAPI) -> None:
    """Answers every error with a page, or with a problem document to what shows no pages."""
    pages.add_exception_handler(EvenhandError, _answer_own)
    pages.add_exception_handler(RequestValidationError, _answer_own)
    pages.add_exception_handler(HTTPException, _answer_http)
    pages.add_exception_handler(Exception, _answer_unexpected)


def _answer_own(request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        error = InvalidInput(field_problems([{**one, "msg": _put_in_words(one)} for one in error.errors()]))
    if not isinstance(error, EvenhandError):
        return _answer_unexpected(request, error)
    if not is_read_by_a_person(request.scope):
        return problem_response(error, _request_id(request))
    return _page(request, kind_of(error), str(error), error.problems if isinstance(error, InvalidInput) else ())


def _answer_http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    known = {kind.status: kind for kind in KINDS.values()}
    kind = known.get(status) or ProblemKind(status, f"http-{status}", HTTPStatus(status).phrase)
    detail = f"There is nothing at {request.url.path}." if status == HTTPStatus.NOT_FOUND else HTTPStatus(status).phrase
    headers = dict(getattr(error, "headers", None) or {})
    response = response_of(kind, detail, _request_id(request)) if not is_read_by_a_person(request.scope) else _page(request, kind, detail)
    response.headers.update(headers)
    return response


def _answer_unexpected(request: Request, _error: Exception) -> Response:
    """Shows no internal details; the middleware logs the traceback under the request id."""
    if not is_read_by_a_person(request.scope):
        return unexpected_response(_request_id(request))
    kind = ProblemKind(HTTPStatus.INTERNAL_SERVER_ERROR, "internal-error", "Something failed here")
    return _page(request, kind, "This is our fault, not yours. The log has the details under the request id below.")


def _put_in_words(found: Mapping[str, Any]) -> str:
    """Findings that no address can cause keep Pydantic's words."""
    words = _WORDS.get(found["type"])
    return str(found["msg"]) if words is None else words.format(**{"pattern": "", **found.get("ctx", {})})


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
