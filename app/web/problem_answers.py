"""The problem answers of a route, for its OpenAPI entry."""

from typing import Any

from ..base.errors import (
    Conflict,
    EvenhandError,
    Forbidden,
    InvalidInput,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from .problems import KINDS, MEDIA_TYPE

Answers = dict[int | str, dict[str, Any]]

PROBLEM_SCHEMA = "#/components/schemas/Problem"


def problems(*errors: type[EvenhandError]) -> Answers:
    """Answers of every route with a key, and those of `errors`."""
    return answers(Unauthenticated, Forbidden, InvalidInput, Unavailable, *errors)


def answers(*errors: type[EvenhandError]) -> Answers:
    entries: Answers = {}
    for error in errors:
        kind = KINDS[error]
        example = {
            "type": kind.type,
            "title": kind.title,
            "status": kind.status,
            "detail": f"{error.__doc__}",
        }
        if error is InvalidInput:
            example |= {
                "detail": "name: must not be blank",
                "errors": [{"field": "name", "message": "must not be blank"}],
            }
        example["request_id"] = "0f8c1d9e5b7a4c3e9d2f6a1b8c4e7d05"
        content = {MEDIA_TYPE: {"schema": {"$ref": PROBLEM_SCHEMA}, "example": example}}
        entries[kind.status] = {"description": kind.title, "content": content}
    return entries


def name_location(status: int, description: str, location: str) -> Answers:
    """Answer with the address of what is made."""
    return {
        status: {
            "description": description,
            "headers": {"Location": {"description": location, "schema": {"type": "string"}}},
        }
    }


CONFLICT = answers(Conflict)
NOT_FOUND = answers(NotFound)
"""Routes beneath a deployment, which all have it, need not name it."""
