"""Refusals in the form of REST v1: problem documents, which the door turns into IBM's."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import Request
from starlette.responses import JSONResponse

PROBLEM = "application/problem+json"


class Refused(Exception):
    """A request that is not done. `document` is the answer."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        super().__init__(document["detail"])


def not_found(noun: str, identifier: object) -> Refused:
    return _refusal(404, "not-found", f"There is no {noun} {printable(identifier)}.")


def conflict(message: str) -> Refused:
    return _refusal(409, "conflict", message)


def invalid(field: str, message: str) -> Refused:
    return invalid_fields([(field, message)])


def invalid_fields(problems: Sequence[tuple[str, str]]) -> Refused:
    """Returns the refusal of fields, each with what is wrong with it."""
    detail = "; ".join(f"{field}: {message}" for field, message in problems)
    return _refusal(422, "invalid-input", detail, errors=[{"field": field, "message": message} for field, message in problems])


def forbidden(permission: str) -> Refused:
    return _refusal(403, "forbidden", f"This key's role lacks the permission {permission}.")


def unauthenticated(message: str) -> Refused:
    return _refusal(401, "unauthenticated", message)


def translated(document: Mapping[str, Any], as_sent: Callable[[str], str]) -> Refused:
    """Returns a refusal of REST v1 with its fields named as a script wrote them."""
    errors = [{**problem, "field": as_sent(problem["field"])} for problem in document.get("errors") or ()]
    detail = "; ".join(f"{problem['field']}: {problem['message']}" for problem in errors) or document["detail"]
    return Refused({**document, "detail": detail, **({"errors": errors} if errors else {})})


def printable(text: object, length: int = 100) -> str:
    return ascii(str(text))[1:-1][:length]


async def answer_refused(request: Request, error: Exception) -> JSONResponse:
    document = error.document if isinstance(error, Refused) else {}
    return JSONResponse({**document, "request_id": request.state.request_id}, document["status"], media_type=PROBLEM)


def _refusal(status: int, word: str, detail: str, **members: object) -> Refused:
    return Refused({"type": f"urn:evenhand:problem:{word}", "title": detail[:100], "status": status, "detail": detail, **members})
