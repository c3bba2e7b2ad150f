"""The base of all bodies: strict types, no unknown members, finite numbers.

A docstring below a member is its description in the OpenAPI document.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from email.message import Message
from email.utils import collapse_rfc2231_value
from operator import attrgetter
from tempfile import TemporaryFile
from typing import Annotated, Any, BinaryIO, Self, TypeVar, get_args

import msgspec
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AliasPath, BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, WithJsonSchema
from starlette.requests import ClientDisconnect

from ..base.apart import ChildWork
from ..base.encodings import UTF_8, find_encoding
from ..base.errors import InvalidInput, TooLarge, Unavailable, UnsupportedMediaType
from ..base.strict_json import JsonObject
from ..base.turns import Room
from ..base.values import GroupValue, Range, Scalar, frozen, is_number
from ..domain.paging import Paging
from .middleware import is_json
from .route_declarations import cut

FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"


MAX_READING_SECONDS = 600

MAX_SILENCE_SECONDS = 30
"""A client that sends nothing for longer loses its place."""


@frozen
class SentType:
    media_type: str
    encoding: str


def read_sent_type(request: Request) -> SentType:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise UnsupportedMediaType(
            f"Send the body without a Content-Encoding; found {encoding!r:.50}. Parquet is compressed by "
            "itself."
        )
    return parse_content_type(request.headers.get("content-type", ""))


def parse_content_type(content_type: str) -> SentType:
    """Raises UnsupportedMediaType: JSON is not UTF-8, or its text is in an unknown encoding."""
    sent = Message()
    sent["Content-Type"] = content_type
    (media_type, _), *parameters = sent.get_params([("", "")])
    media_type = media_type.strip().lower()
    charsets = [
        collapse_rfc2231_value(value).strip() for name, value in parameters if name.lower() == "charset"
    ]
    encodings = {find_encoding(charset) for charset in charsets} or {UTF_8}
    encoding = encodings.pop()
    if encoding is None or encodings or (is_json(media_type) and encoding != UTF_8):
        raise UnsupportedMediaType(
            "Send JSON in UTF-8, and CSV in one known encoding; found the charset "
            f"{' and '.join(charsets)!r:.50}."
        )
    return SentType(media_type, encoding)


@asynccontextmanager
async def spool_body(request: Request, *, room: Room, actor: str, max_bytes: int) -> AsyncIterator[BinaryIO]:
    """Yields it from its beginning. Raises TooLarge, InvalidInput (never complete), Unavailable."""
    # Chunked bodies are counted as they arrive.
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    with room.place(actor), TemporaryFile() as file:
        received = 0
        stream = request.stream()
        try:
            while True:
                # The limit is on silence, not on the whole: a slow line may take an hour.
                async with asyncio.timeout(MAX_SILENCE_SECONDS):
                    chunk = await anext(stream, None)
                if chunk is None:
                    break
                received += len(chunk)
                if received > max_bytes:
                    raise _too_large(max_bytes)
                await run_in_threadpool(file.write, chunk)
        except TimeoutError as error:
            raise InvalidInput(
                "body", f"did not arrive: nothing came for {MAX_SILENCE_SECONDS} seconds"
            ) from error
        except ClientDisconnect as error:
            raise InvalidInput("body", "did not arrive completely") from error
        except OSError as error:
            raise Unavailable("There is no room on the disk for the upload. Nothing was changed.") from error
        await run_in_threadpool(file.seek, 0)
        yield file


async def read_apart(request: Request, child: ChildWork) -> Any:  # noqa: ANN401 - of its call
    late = asyncio.get_running_loop().call_later(MAX_READING_SECONDS, child.end)
    departure = asyncio.ensure_future(_await_end(request))
    departure.add_done_callback(lambda _: child.end())
    try:
        return await run_in_threadpool(child.result)
    finally:
        late.cancel()
        departure.cancel()


async def _await_end(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"The body is larger than {max_bytes // 2**20} MiB.")


Item = TypeVar("Item")
Form = TypeVar("Form")

FromText = Annotated[Item, Field(strict=False)]
"""A value that JSON has no form for, such as a member of an enumeration, sent as its text."""

NOT_BLANK = r"\S"

NextPageCursor = Annotated[
    str | None, Field(description="Send it as `cursor` for the next page; null on the last one.")
]
FollowingCursor = Annotated[
    str | None, Field(description="Send it as `cursor` for what follows; null at the end.")
]


class In(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True, strict=True)

    def read_as(self, form: type[Form], **members: object) -> Form:
        return msgspec.convert(Joined(self, members) if members else self, form, from_attributes=True)


def _drop_defaults(schema: JsonObject) -> None:
    for member in schema.get("properties", {}).values():
        member.pop("default", None)


class Patch(In):
    """A JSON merge patch (RFC 7396): defaults of members that were not sent mean nothing."""

    model_config = ConfigDict(json_schema_extra=_drop_defaults)

    def merged_into(self, document: JsonObject) -> JsonObject:
        return _merge(document, self.model_dump(mode="json", exclude_unset=True))


def _merge(document: JsonObject, patch: JsonObject) -> JsonObject:
    result = {name: value for name, value in document.items() if patch.get(name, value) is not None}
    for name, value in patch.items():
        if isinstance(value, dict):
            # RFC 7396: an object replaces anything that is none.
            below = document.get(name)
            result[name] = _merge(below if isinstance(below, dict) else {}, value)
        elif value is not None:
            result[name] = value
    return result


class Out(BaseModel):
    """Reads members from attributes of their name or alias."""

    model_config = ConfigDict(frozen=True, from_attributes=True, validate_by_name=True)

    @classmethod
    def from_object(cls, source: object, **members: object) -> Self:
        return cls.model_validate(Joined(source, members) if members else source)


def read_from(path: str, **options: Any) -> Any:  # noqa: ANN401 - a field's default
    return Field(validation_alias=AliasPath(*path.split(".")), **options)


@frozen
class Joined:
    _source: object
    _members: Mapping[str, object]

    def __getattr__(self, name: str) -> object:
        return self._members[name] if name in self._members else getattr(self._source, name)


class PageOut(Out):
    """Items in the first member; `next_cursor` is null on the last page."""

    @classmethod
    def of(
        cls,
        items: Sequence[Item],
        paging: Paging,
        write: Callable[[Item], object] = lambda item: item,
        *,
        number_of: Callable[[Item], int] = attrgetter("no"),
    ) -> Self:
        shown, next_cursor = cut(items, paging, number_of)
        return cls.model_validate(
            {next(iter(cls.model_fields)): [write(item) for item in shown], "next_cursor": next_cursor}
        )

    @classmethod
    def build_example(cls) -> JsonObject:
        name, field = next(iter(cls.model_fields.items()))
        extra: Any = get_args(field.annotation)[0].model_config["json_schema_extra"]
        return {name: extra["examples"], "next_cursor": None}


class ProblemField(Out):
    """One offending field of a request."""

    field: str = Field(examples=["attributes[0].monitored[1]"])
    message: str = Field(examples=["'women' is in the reference group, too"])


class Problem(Out):
    """An RFC 9457 problem document."""

    type: str = Field(examples=["urn:evenhand:problem:not-found"])
    """A URI by which programs may distinguish kinds of problems."""

    title: str = Field(examples=["Not found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["There is no deployment credit-risk."])
    errors: list[ProblemField] | None = None
    """Present where fields of the request are at fault."""

    request_id: str | None = Field(default=None, examples=["0f8c1d9e5b7a4c3e9d2f6a1b8c4e7d05"])


def example(content: JsonObject) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [content]})


_RANGE_ENDS = 2


def read_group_value(sent: Any) -> GroupValue:  # noqa: ANN401 - it is this function that finds out what was sent
    """A JSON scalar or range; pydantic would name the branches of a union in a problem's place.

    A number that is not finite passes: the rules of columns and monitors refuse it at its place. Raises
    ValueError.
    """
    if isinstance(sent, list):
        # bool is a subclass of int: `[true, 5]` is no range.
        if len(sent) != _RANGE_ENDS or not all(map(is_number, sent)):
            raise ValueError("a range must be two numbers: [lo, hi]")
        try:
            return Range(*map(float, sent))
        except OverflowError as error:  # JSON may hold whole numbers of any length
            raise ValueError("the ends of a range must be finite numbers") from error
    if isinstance(sent, str | int | float | Range):
        return sent
    raise ValueError("must be text, a number, true or false, or a range [lo, hi]")


def read_scalar(sent: Any) -> Scalar:  # noqa: ANN401 - as above
    if isinstance(sent, str | int) or (isinstance(sent, float) and math.isfinite(sent)):
        return sent
    raise ValueError("must be text, a number, true or false")


_SCALAR_SCHEMAS = [
    {"type": "string", "minLength": 1, "maxLength": 200},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
]

ScalarJson = Annotated[Scalar, PlainValidator(read_scalar), WithJsonSchema({"anyOf": _SCALAR_SCHEMAS})]

RANGE_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
    "description": "A closed range [lo, hi].",
}

GroupValueJson = Annotated[
    GroupValue,
    PlainValidator(read_group_value),
    PlainSerializer(msgspec.to_builtins),
    WithJsonSchema({"anyOf": [*_SCALAR_SCHEMAS, RANGE_SCHEMA]}),
]
