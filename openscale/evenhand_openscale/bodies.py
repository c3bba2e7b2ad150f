"""Bodies of requests, and the envelope of answers."""

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import jsonpatch
from fastapi import Request
from jsonpointer import JsonPointerException
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .refused import invalid, invalid_fields
from .times import Time, moment
from .v1 import Document, Json

Model = TypeVar("Model", bound=BaseModel)


class Sent(BaseModel):
    """The body of a request. Members that are not known here are ignored: SDKs differ in what they add."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True, str_max_length=10_000)


class Operation(Sent):
    """One operation of a JSON patch; its path begins at the entity."""

    op: Literal["add", "replace", "remove", "test", "move", "copy"]
    path: str
    value: Any = None
    from_: str | None = Field(default=None, alias="from")

    def to_json(self) -> Json:
        return {**self.model_dump(by_alias=True), "path": f"/{self.path.removeprefix('/')}"}


def patched(document: Document, operations: Sequence[Operation]) -> Json:
    """Returns the document with the operations done. Raises Refused for one that cannot be done."""
    result: Any = dict(document)
    for position, operation in enumerate(operations):
        written = operation.to_json()
        # The SDK replaces members that may not be there yet.
        if written["op"] == "replace" and _is_absent(result, written["path"]):
            written["op"] = "add"
        try:
            result = jsonpatch.apply_patch(result, [written])
        except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, ValueError, KeyError) as error:
            raise invalid(f"[{position}]", f"cannot be done at {operation.path!r:.200}: {error}") from error
    if not isinstance(result, dict):
        raise invalid("[0].path", "must be a member of the entity")
    return result


def _is_absent(document: Any, path: str) -> bool:  # noqa: ANN401 - JSON
    missing = object()
    try:
        return jsonpatch.JsonPointer(path).resolve(document, missing) is missing
    except (JsonPointerException, TypeError, ValueError, KeyError):
        return False


def read_as(model: type[Model], document: object, field: str = "") -> Model:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problems = [
            ("".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in (field, *item["loc"])).strip("."), item["msg"])
            for item in error.errors()
        ]
        raise invalid_fields(problems) from error


async def storable_only(request: Request) -> None:
    """Raises Refused if the body holds NUL or half a surrogate pair, which the database cannot. REST v1 reads records."""
    is_passed_on = request.url.path.endswith(("/records", "/predictions"))
    if request.method not in {"POST", "PUT", "PATCH"} or is_passed_on or "json" not in request.headers.get("content-type", ""):
        return
    try:
        text = json.dumps(json.loads(await request.body() or b"null"), ensure_ascii=False, allow_nan=False)
        text.encode()
    except RecursionError as error:
        raise invalid("body", "is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise invalid("body", "holds half of a surrogate pair, which is no text") from error
    except ValueError as error:
        raise invalid("body", "is not JSON, which knows neither NaN nor Infinity") from error
    if "\\u0000" in text:
        raise invalid("body", "holds the NUL character")


def resource(
    identifier: str, url: str, entity: Json, *, created_at: Time, created_by: str = "evenhand", modified_at: Time | None = None
) -> Json:
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


def active(entity: Document) -> Json:
    return {**entity, "status": {"state": "active"}}


def is_among(sent: str | None, value: object) -> bool:
    """Returns whether a filter, a list joined by commas, lets the value through; an absent one lets all through."""
    return not sent or str(value) in sent.split(",")


def without_none(members: Document) -> Json:
    return {name: value for name, value in members.items() if value is not None}
