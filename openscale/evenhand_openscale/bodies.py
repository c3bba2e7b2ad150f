"""Bodies of this face: what is read of them, and the envelope of what is answered."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, TypeVar

import jsonpatch
from fastapi import Request
from jsonpointer import JsonPointerException
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..errors import FieldProblem, InvalidInput
from ..web.media import is_json
from ..web.problems import field_problems

Answer: TypeAlias = dict[str, Any]
"""The body of an answer, or an object in one."""

Model = TypeVar("Model", bound=BaseModel)


class Sent(BaseModel):
    """The body of a request. Members that are not known here are ignored: SDKs differ in what they add."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)


class Operation(Sent):
    """One operation of a JSON patch; its path begins at the entity."""

    op: Literal["add", "replace", "remove", "test", "move", "copy"]
    path: str = Field(max_length=2000)
    value: Any = None
    from_: str | None = Field(default=None, alias="from", max_length=2000)

    def to_json(self) -> Answer:
        """Returns the operation as RFC 6902 writes it."""
        written: Answer = {"op": self.op, "path": self.path if self.path.startswith("/") else f"/{self.path}"}
        if self.op in {"add", "replace", "test"}:
            written["value"] = self.value
        if self.from_ is not None:
            written["from"] = self.from_
        return written


def patched(document: Mapping[str, Any], operations: Sequence[Operation]) -> Answer:
    """Returns the document with the operations done.

    Raises:
        InvalidInput: one cannot be done; names it.
    """
    found: Any = dict(document)
    for position, operation in enumerate(operations):
        written = operation.to_json()
        # The SDK replaces members that may not be there yet.
        if written["op"] == "replace" and _is_absent(found, written["path"]):
            written["op"] = "add"
        try:
            found = jsonpatch.apply_patch(found, [written])
        except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, ValueError, KeyError) as error:
            raise InvalidInput.of(f"[{position}]", f"cannot be done at {operation.path!r:.200}: {error}") from error
    if not isinstance(found, dict):
        raise InvalidInput.of("[0].path", "must be a member of the entity")
    return found


def _is_absent(document: Any, path: str) -> bool:  # noqa: ANN401 - JSON
    missing = object()
    try:
        return jsonpatch.JsonPointer(path).resolve(document, missing) is missing
    except (JsonPointerException, TypeError, ValueError, KeyError):
        return False


def read_as(model: type[Model], document: object, field: str = "") -> Model:
    """Returns the document as that body.

    Raises:
        InvalidInput: it does not fit; names each member.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        found = field_problems([{**item, "loc": ("body", *filter(None, (field,)), *item["loc"])} for item in error.errors()])
        raise InvalidInput(found) from error


@contextmanager
def fields_named(as_sent: Callable[[str], str]) -> Iterator[None]:
    """Lets a refusal of REST v1 within the block name its fields as the SDK's script wrote them: `as_sent` translates a path."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput([FieldProblem(as_sent(one.field), one.message) for one in error.problems]) from error


async def storable_only(request: Request) -> None:
    """Returns if the body holds nothing that the database cannot: NaN, NUL or half a surrogate pair. Large bodies are read elsewhere.

    Raises:
        InvalidInput: it does.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method not in {"POST", "PUT", "PATCH"} or not is_json(media_type) or request.url.path.endswith(("/records", "/predictions")):
        return
    try:
        text = json.dumps(json.loads(await request.body() or b"null"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except RecursionError as error:
        raise InvalidInput.of("body", "is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise InvalidInput.of("body", "holds half of a surrogate pair, which is no text") from error
    except ValueError as error:
        raise InvalidInput.of("body", "is not JSON, which knows neither NaN nor Infinity") from error
    if "\\u0000" in text:
        raise InvalidInput.of("body", "holds the NUL character")


def resource(
    identifier: str, url: str, entity: Answer, *, created_at: datetime, created_by: str = "evenhand", modified_at: datetime | None = None
) -> Answer:
    """Returns the envelope of one object."""
    metadata = {
        "id": identifier,
        "crn": f"crn:v1:evenhand:::{identifier}",
        "url": url,
        "created_at": moment(created_at),
        "created_by": created_by,
        "modified_at": moment(modified_at or created_at),
        "modified_by": created_by,
    }
    return {"metadata": metadata, "entity": entity}


def active(entity: Mapping[str, Any]) -> Answer:
    """Returns the entity with the state of what is ready."""
    return {**entity, "status": {"state": "active"}}


def moment(time: datetime) -> str:
    """Returns the moment as the SDK reads it."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def is_among(sent: str | None, value: object) -> bool:
    """Returns whether a filter, a list joined by commas, lets the value through; an absent one lets all through."""
    return not sent or str(value) in sent.split(",")


def without_none(members: Mapping[str, Any]) -> Answer:
    """Returns the members that have a value."""
    return {name: value for name, value in members.items() if value is not None}


def names_of(columns: Iterable[Any]) -> list[str]:
    """Returns the names of columns."""
    return [column.name for column in columns]
