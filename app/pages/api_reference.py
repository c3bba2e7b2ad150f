"""Reference of the API to read, for every key, made from the OpenAPI document: a page for each tag."""

import json
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from markupsafe import Markup
from msgspec import Struct

from ..access.gate.caller import AnyKey
from ..base.errors import NotFound
from .markdown import render_line, render_text
from .render import show_page

Schema = Mapping[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")

_LIMITS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
    "maxProperties": "at most {}",
    "pattern": "as {}",
    "default": "{} if left out",
}

router = APIRouter(include_in_schema=False)


class ApiOperation(Struct, frozen=True):
    """Operation of the API: `content` as in the document, `curl` an example of a request."""

    method: str
    path: str
    content: Schema
    curl: str


class ApiTag(Struct, frozen=True):
    """Operations of a tag, and the bodies that they name, by name."""

    name: str
    text: str
    operations: list[ApiOperation]
    bodies: dict[str, Schema]


def read_tags(document: Mapping[str, Any]) -> dict[str, ApiTag]:
    """Reads the tags of an OpenAPI document, by the last part of their addresses."""
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    texts = {tag["name"]: tag["description"] for tag in document["tags"]}
    operations: dict[str, list[ApiOperation]] = {name: [] for name in texts}
    for path, item in document["paths"].items():
        for method in filter(item.__contains__, METHODS):
            curl = write_curl(path, method, item[method], schemas)
            operation = ApiOperation(method.upper(), path, item[method], curl)
            operations.setdefault(item[method]["tags"][0], []).append(operation)
    return {
        name.lower().replace(" ", "-"): ApiTag(
            name[0].upper() + name[1:],
            texts.get(name, ""),
            tag_operations,
            find_bodies([operation.content for operation in tag_operations], schemas),
        )
        for name, tag_operations in operations.items()
    }


def find_bodies(contents: list[Schema], schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    bodies = {}
    unread = list(contents)
    while unread:
        for name in _find_references(unread.pop()):
            if name not in bodies:
                bodies[name] = schemas[name]
                unread.append(bodies[name])
    return dict(sorted(bodies.items()))


def write_curl(path: str, method: str, operation: Schema, schemas: Mapping[str, Schema]) -> str:
    query = []
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        example = find_example(parameter["schema"], schemas) or name.upper()
        path = path.replace(f"{{{name}}}", str(example))
        if parameter["in"] == "query" and parameter.get("required"):
            query.append(f"{name}={example}")
    address = f'"$EVENHAND{path}{"?" if query else ""}{"&".join(query)}"'
    lines = [f"curl {address}" if method == "get" else f"curl -X {method.upper()} {address}"]
    if operation.get("security"):
        lines.append('-H "Authorization: Bearer $KEY"')
    # Of several media types, and of several examples, the first is shown.
    for media_type, content in list(operation.get("requestBody", {}).get("content", {}).items())[:1]:
        lines.append(f"-H {shlex.quote(f'Content-Type: {media_type}')}")
        example = content.get("example") or find_example(content.get("schema", {}), schemas)
        for example_object in list(content.get("examples", {}).values())[:1]:
            example = example_object["value"]
        if example is None:
            lines.append("--data-binary @FILE")
        else:
            text = example if isinstance(example, str) else json.dumps(example, ensure_ascii=False)
            lines.append(f"--data-binary {shlex.quote(text)}")
    return " \\\n  ".join(lines)


def find_example(schema: Schema, schemas: Mapping[str, Schema]) -> Any:  # noqa: ANN401 - any JSON
    """Finds an example of a schema, else its first listed value; None if there is neither."""
    while "$ref" in schema:
        schema = schemas[_name_schema(schema)]
    for examples in (schema.get("examples"), schema.get("enum")):
        if examples:
            return examples[0]
    for alternative in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        example = find_example(alternative, schemas)
        if example is not None:
            return example
    return None


def describe_type(schema: Schema) -> Markup:
    """Describes a type with its limits: `integer, from 1, to 500`."""
    limits = [
        text.format(json.dumps(schema[name], ensure_ascii=False))
        for name, text in _LIMITS.items()
        if schema.get(name) is not None
    ]
    return Markup(", ").join([_name_type(schema), *limits])


def _name_type(schema: Schema) -> Markup:
    if "$ref" in schema:
        return Markup('<a href="#{0}">{0}</a>').format(_name_schema(schema))
    alternatives = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
    if alternatives:
        return Markup(" or ").join(describe_type(alternative) for alternative in alternatives)
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(Markup("<code>{}</code>").format(json.dumps(value)) for value in values)
    if "items" in schema:
        return Markup("list of {}").format(describe_type(schema["items"]))
    if isinstance(schema.get("additionalProperties"), dict):
        return Markup("object of {}").format(describe_type(schema["additionalProperties"]))
    if "properties" in schema:
        return Markup("object with {}").format(", ".join(schema["properties"]))
    kind = schema.get("type", "any JSON")
    name = kind if isinstance(kind, str) else " or ".join(kind)
    return (
        Markup("{} ({})").format(name, schema["format"]) if "format" in schema else Markup("{}").format(name)
    )


def _find_references(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    branches = tree if isinstance(tree, list) else []
    if isinstance(tree, dict):
        if isinstance(tree.get("$ref"), str):
            yield _name_schema(tree)
        branches = list(tree.values())
    for branch in branches:
        yield from _find_references(branch)


def _name_schema(reference: Schema) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


@router.get("/docs")
def show_reference(request: Request, _principal: AnyKey) -> Response:
    return _show_tags(request, None)


@router.get("/docs/{name}")
def show_reference_of_tag(name: str, request: Request, _principal: AnyKey) -> Response:
    if name not in _read_tags(request.app):
        raise NotFound("page of the API's reference", name)
    return _show_tags(request, name)


@router.get("/openapi.json")
def send_openapi(request: Request, _principal: AnyKey) -> JSONResponse:
    return JSONResponse(request.app.openapi())


def _show_tags(request: Request, name: str | None) -> Response:
    tags = _read_tags(request.app)
    functions = {"describe_type": describe_type, "render_line": render_line, "render_text": render_text}
    return show_page(request, "api.html", functions | {"api_tags": tags, "tag": tags[name] if name else None})


@cache
def _read_tags(app: FastAPI) -> Mapping[str, ApiTag]:
    return read_tags(app.openapi())
