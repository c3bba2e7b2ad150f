"""Parameters that many routes take (ids, texts, moments, opaque cursors of lists); problems they answer."""

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Path, Query
from pydantic import AwareDatetime, BeforeValidator, Field

from ..base.errors import (
    Conflict,
    EvenhandError,
    Forbidden,
    InvalidInput,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from ..domain.paging import Paging
from ..sources.stored.record_conditions import GapPlace, RecordPlace, RecordSort
from .problems import KINDS, MEDIA_TYPE

ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,63}$"

UUID_PATTERN = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"

FilterText = Annotated[str | None, Query(max_length=1000, pattern=r"^[^\x00]*$")]

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def _require_timestamp(sent: object) -> object:
    """Pydantic would also take numbers, as seconds since 1970."""
    if not isinstance(sent, str) or not _TIMESTAMP.fullmatch(sent):
        raise ValueError("must be a timestamp with its time zone, such as 2026-03-01T09:00:00Z")
    return sent


Timestamp = Annotated[
    AwareDatetime, Field(strict=False, examples=["2026-03-01T09:00:00Z"]), BeforeValidator(_require_timestamp)
]


def uuid_path(description: str, example: str) -> Any:  # noqa: ANN401 - as `Path` itself
    return Path(description=description, pattern=UUID_PATTERN, examples=[example])


OptionalMoment = Annotated[
    Timestamp | None, Query(description="ISO 8601 with an offset.", examples=["2026-11-20T00:00:00Z"])
]


def in_utc(field: str, moment: datetime | None) -> datetime | None:
    """Raises InvalidInput outside the years that a datetime holds."""
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(field, "lies outside the years 1 to 9999 in UTC") from error


MAX_PAGE = 1000

Item = TypeVar("Item")
Place = TypeVar("Place")
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="How many at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=100, description="The `next_cursor` of the page before; left out for the first page."),
]
PlaceCursor = Annotated[
    str | None,
    Query(max_length=2000, description="The `next_cursor` of the page before; left out for the first page."),
]


def read_number_cursor(cursor: Cursor = None) -> int:
    """64 bits; 0 for the first page."""
    return _read_number(cursor)


def read_paging(limit: Limit = 100, cursor: Cursor = None) -> Paging:
    # One item more than is shown says whether there are others.
    return Paging(limit + 1, _read_number(cursor))


def read_short_paging(limit: Limit = 100, cursor: Cursor = None) -> Paging:
    return Paging(limit + 1, _read_number(cursor, 32))


NumberCursor = Annotated[int, Depends(read_number_cursor)]
NumberPaging = Annotated[Paging, Depends(read_paging)]
ShortNumberPaging = Annotated[Paging, Depends(read_short_paging)]


def cut(
    items: Sequence[Item], paging: Paging, number_of: Callable[[Item], int] = attrgetter("no")
) -> tuple[Sequence[Item], str | None]:
    page = items[: paging.limit - 1]
    return page, _encode(number_of(page[-1]).to_bytes(8)) if len(items) > len(page) else None


def read_place_cursor(cursor: str | None, form: type[Place]) -> Place | None:
    if cursor is None:
        return None
    try:
        return msgspec.json.decode(_decode(cursor), type=form)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _refuse_cursor() from error


def cut_at_place(
    items: Sequence[Item], limit: int, place_of: Callable[[Item], object]
) -> tuple[Sequence[Item], str | None]:
    page = items[:limit]
    return page, encode_place(place_of(page[-1])) if len(items) > limit else None


def encode_place(place: object | None) -> str | None:
    return None if place is None else _encode(msgspec.json.encode(place))


def _read_number(cursor: str | None, bits: int = 64) -> int:
    number = 0 if cursor is None else int.from_bytes(_decode(cursor))
    # Numbers of the database have a sign.
    if number >= 1 << (bits - 1):
        raise _refuse_cursor()
    return number


def _encode(encoded: bytes) -> str:
    return base64.urlsafe_b64encode(encoded).decode()


def _decode(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _refuse_cursor() from error


def _refuse_cursor() -> InvalidInput:
    return InvalidInput("cursor", "is not a cursor from this list")


def read_record_cursor(cursor: str | None, sort: RecordSort) -> RecordPlace | GapPlace | None:
    return (
        read_place_cursor(cursor, GapPlace)
        if sort is RecordSort.GAP
        else read_place_cursor(cursor, RecordPlace)
    )


Answers = dict[int | str, dict[str, Any]]

PROBLEM_SCHEMA = "#/components/schemas/Problem"


def problems(*errors: type[EvenhandError]) -> Answers:
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
    return {
        status: {
            "description": description,
            "headers": {"Location": {"description": location, "schema": {"type": "string"}}},
        }
    }


CONFLICT = answers(Conflict)
NOT_FOUND = answers(NotFound)
"""Routes beneath a deployment, which all have it, need not name it."""
