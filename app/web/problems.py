"""Errors as RFC 9457 problem documents."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, ResponseValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..base.errors import (
    CallLoop,
    CheckCancelled,
    CheckTooLong,
    Conflict,
    EndpointRefused,
    EvenhandError,
    FieldProblem,
    Forbidden,
    InvalidInput,
    LeaseLost,
    NotFound,
    QuotaReached,
    RateReached,
    ReportNotMade,
    ScoringFailed,
    SetupError,
    TooLarge,
    TooManyTries,
    Unauthenticated,
    Unavailable,
    UnsupportedMediaType,
)
from ..base.values import frozen, is_number
from ..domain.check import RENAMED_DATA
from ..payloads.wire import name_kind

MEDIA_TYPE = "application/problem+json"
MAX_BODY_BYTES = 1_048_576

_TYPE_PREFIX = "urn:evenhand:problem:"


@frozen
class ProblemKind:
    status: int
    word: str
    title: str

    @property
    def type(self) -> str:
        return f"{_TYPE_PREFIX}{self.word}"


INTERNAL = ProblemKind(500, "internal-error", "Something failed here")

KINDS: Mapping[type[EvenhandError], ProblemKind] = {
    InvalidInput: ProblemKind(422, "invalid-input", "The request breaks a rule"),
    NotFound: ProblemKind(404, "not-found", "Not found"),
    Conflict: ProblemKind(409, "conflict", "The request contradicts what is stored"),
    TooLarge: ProblemKind(413, "too-large", "The request is too large"),
    UnsupportedMediaType: ProblemKind(415, "unsupported-media-type", "The body's form is not understood"),
    Unauthenticated: ProblemKind(401, "unauthenticated", "An API key is needed"),
    Forbidden: ProblemKind(403, "forbidden", "This key may not do that"),
    TooManyTries: ProblemKind(429, "too-many-tries", "Too many failed log-ins"),
    RateReached: ProblemKind(429, "rate-reached", "This key sends too much at once"),
    QuotaReached: ProblemKind(507, "quota-reached", "This key has used up its storage"),
    CallLoop: ProblemKind(508, "call-loop", "This call came back"),
    Unavailable: ProblemKind(503, "unavailable", "Something we depend on does not answer"),
    ReportNotMade: ProblemKind(503, "report-not-made", "The report was not made"),
    ScoringFailed: ProblemKind(502, "scoring-failed", "The model's endpoint gave no usable predictions"),
    EndpointRefused: ProblemKind(422, "endpoint-refused", "That address may not be called"),
    CheckTooLong: ProblemKind(409, "check-too-long", "The check used up its time"),
    CheckCancelled: ProblemKind(409, "check-cancelled", "The check was cancelled"),
    LeaseLost: ProblemKind(409, "lease-lost", "Another worker has the check"),
    SetupError: ProblemKind(503, "setup", "The installation needs its operator"),
}

_HEADERS = {
    401: {"WWW-Authenticate": 'Bearer realm="Evenhand"'},
    429: {"Retry-After": "300"},
    503: {"Retry-After": "2"},
    507: {"Retry-After": "3600"},
}


def find_kind(error: EvenhandError) -> ProblemKind:
    return next((KINDS[kind] for kind in type(error).__mro__ if kind in KINDS), INTERNAL)


def problem_response(error: EvenhandError, request_id: str | None) -> Response:
    kind = find_kind(error)
    problems = error.problems if isinstance(error, InvalidInput) else ()
    detail = error.quoting if isinstance(error, ScoringFailed) else str(error)
    response = build_problem_response(kind, detail, request_id, problems=problems)
    if isinstance(error, RateReached | ReportNotMade):
        del response.headers["Retry-After"]
        if error.retry_after_seconds is not None:
            response.headers["Retry-After"] = str(error.retry_after_seconds)
    return response


def refuse_other_methods(sentence: str, request_id: str) -> Response:
    refusal = build_problem_response(
        ProblemKind(405, "http-405", HTTPStatus.METHOD_NOT_ALLOWED.phrase), sentence, request_id
    )
    refusal.headers["Allow"] = "POST"
    return refusal


def build_problem_response(
    kind: ProblemKind,
    detail: str,
    request_id: str | None,
    *,
    problems: Sequence[FieldProblem] = (),
    **members: object,
) -> Response:
    document = {"type": kind.type, "title": kind.title, "status": kind.status, "detail": detail}
    if problems:
        document["errors"] = [{"field": problem.field, "message": problem.message} for problem in problems]
    document["request_id"] = request_id
    # ASCII only: the client's text may hold lone surrogates, which UTF-8 cannot carry.
    content = json.dumps(document | members, allow_nan=False).encode("ascii")
    return Response(content, kind.status, _HEADERS.get(kind.status), MEDIA_TYPE)


def build_body_too_large(max_bytes: int = MAX_BODY_BYTES) -> TooLarge:
    return TooLarge(f"The body is larger than {max_bytes:,} bytes.")


def answer_error(request: Request, error: Exception) -> Response:
    """The middleware logs what is not foreseen."""
    request_id: str | None = request.scope.get("state", {}).get("request_id")
    if isinstance(error, RequestValidationError):
        error = InvalidInput(field_problems(error.errors()))
    if isinstance(error, HTTPException):
        status = error.status_code
        headers = dict(error.headers or {})
        if status == HTTPStatus.BAD_REQUEST and "form" not in request.headers.get("content-type", ""):
            return problem_response(InvalidInput("body", "is not JSON in UTF-8"), request_id)
        if status == KINDS[Unavailable].status:
            return problem_response(Unavailable(error.detail), request_id)
        if status == KINDS[TooLarge].status:
            return problem_response(build_body_too_large(), request_id)
        if status == HTTPStatus.NOT_FOUND:
            return build_problem_response(
                KINDS[NotFound], f"There is nothing at {request.url.path}.", request_id
            )
        detail = error.detail
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            template = getattr(request.scope.get("route"), "path", "")
            # Starlette names the methods of the address's first route only.
            documented: Iterable[str] = request.app.openapi()["paths"].get(template, ())
            headers["Allow"] = ", ".join(sorted(map(str.upper, documented))) or headers.get("Allow", "")
            detail = f"{request.url.path} takes {headers['Allow']}, not {request.method:.20}."
        response = build_problem_response(
            ProblemKind(status, f"http-{status}", HTTPStatus(status).phrase), detail, request_id
        )
        response.headers.update(headers)
        return response
    return (
        problem_response(error, request_id)
        if isinstance(error, EvenhandError)
        else unexpected_response(request_id)
    )


def install(app: FastAPI, answer: Callable[[Request, Exception], Response] = answer_error) -> None:
    for kind in (EvenhandError, RequestValidationError, HTTPException, ResponseValidationError, Exception):
        app.add_exception_handler(kind, answer)


def name_field(location: Sequence[int | str]) -> str:
    inner = location[1:] if location and location[0] in {"body", "query", "path", "header"} else location
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inner).lstrip(".")
    return text or str(location[0] if location else "body")


def field_problems(items: Iterable[Mapping[str, Any]]) -> list[FieldProblem]:
    """The first of each field, in words of ours."""
    problems: dict[str, FieldProblem] = {}
    for item in items:
        context = item.get("ctx", {})
        # Pydantic puts it in quotes.
        member = [context["discriminator"][1:-1]] if "discriminator" in context else []
        field = "body" if item["type"] == "json_invalid" else name_field([*item["loc"], *member])
        sentence = _SENTENCES.get(item["type"]) or _SENTENCES.get(
            item["type"].partition("_")[0], "is not of the form that is expected here"
        )
        message = sentence.format(found=_describe(item.get("input")), **context)
        renamed = RENAMED_DATA.get(str(item.get("input")))
        if renamed is not None and repr(str(renamed)) in str(context.get("expected")):
            message += f", which is called {str(renamed)!r} now"
        problems.setdefault(field, FieldProblem(field, message))
    return list(problems.values())


def _describe(sent: object) -> str:
    return f"{sent!r:.100}" if isinstance(sent, str) or is_number(sent) else name_kind(sent)


_ONE_OF = "must be one of {expected}; found {found}"
_OBJECT = "must be a JSON object"

_SENTENCES = {
    "bool": "must be true or false, found {found}",
    "date": "must be a date such as 2026-11-30, found {found}",
    "dict": _OBJECT,
    "enum": _ONE_OF,
    "extra_forbidden": "is not a member that is known here",
    "finite_number": "must be a finite number",
    "float": "must be a number, found {found}",
    "greater_than": "must be more than {gt}, found {found}",
    "greater_than_equal": "must be {ge} or more, found {found}",
    "int": "must be a whole number, found {found}",
    "json_invalid": "is not JSON ({error})",
    "less_than": "must be less than {lt}, found {found}",
    "less_than_equal": "must be {le} or less, found {found}",
    "list": "must be a list",
    "literal_error": _ONE_OF,
    "missing": "is required",
    "model": _OBJECT,
    "model_attributes_type": f"{_OBJECT}, sent with the content type application/json",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "string_too_long": "must have at most {max_length:,} characters",
    "string_too_short": "must have at least {min_length:,} characters",
    # The text that was meant could be a secret.
    "string_type": "must be text",
    "string_unicode": "holds characters that are no Unicode text",
    "too_long": "must list at most {max_length:,}, found {actual_length:,}",
    "too_short": "must list at least {min_length:,}",
    "union_tag_invalid": "must be one of {expected_tags}; found {tag!r:.100}",
    "union_tag_not_found": "is required",
    "value_error": "{error}",
}
"""Pydantic's own words speak of Python instead of the request."""


def unexpected_response(request_id: str | None) -> Response:
    return build_problem_response(
        INTERNAL, "This is our fault, not yours. The log has the details under this request id.", request_id
    )
