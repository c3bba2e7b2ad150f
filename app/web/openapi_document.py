"""The OpenAPI document: the routes that FastAPI knows, and the rest."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from ..base.errors import NotFound, TooLarge, UnsupportedMediaType
from .body import In, Out, PageOut, Problem
from .route_declarations import problems

API_VERSION = "1"

_DESCRIPTION = """Watches deployed models for unfairness: log what a model is asked and answers, log the ground-truth labels,
check every hour or now, and read the series.

Every request needs an API key (`Authorization: Bearer evk_…`, or HTTP Basic with the key as the password), but for
`/health/live` and `/health/ready`. Errors are problem documents (RFC 9457) with a `request_id` that is in the log as well."""

_TAGS = [
    {
        "name": "deployments",
        "description": "The watched models, the columns of their records, and the endpoints at which they "
        "can be asked again.",
    },
    {
        "name": "fairness monitor",
        "description": "Which outcomes are favourable, and which groups are compared.",
    },
    {
        "name": "training data",
        "description": "What the model was trained on: how values and labels are distributed, before any "
        "model.",
    },
    {"name": "records", "description": "Requests to a model with its answers, and the ground-truth labels."},
    {"name": "checks", "description": "Evaluations of a deployment's fairness, scheduled or asked for."},
    {"name": "measurements", "description": "The series that checks produce."},
    {"name": "evidence", "description": "State of every figure over time, with a bound on false alarms."},
    {
        "name": "attributions",
        "description": "Drivers of a window's gaps, by asking the model about changed copies of records.",
    },
    {"name": "charts", "description": "Series and views as pictures and as CSV."},
    {
        "name": "reports",
        "description": "One check or a period as a file for people, and all measurements as CSV.",
    },
    {
        "name": "mitigation",
        "description": "How unfair outcomes are mitigated, what was learned for it, and which records need "
        "a second look.",
    },
    {"name": "metrics", "description": "What can be measured, and what each figure means."},
    {
        "name": "alerts",
        "description": "Rules, the alerts that they open, and the channels that alerts are sent to.",
    },
    {"name": "API keys", "description": "For admins."},
    {"name": "health", "description": "For operators."},
]

_SECURITY_SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key: `evk_…`."},
    "keyAsPassword": {
        "type": "http",
        "scheme": "basic",
        "description": "Any user name, and an API key as the password.",
    },
}
_PACKAGE = f"{__package__.partition('.')[0]}."
_OPEN_PATHS = frozenset({"/health/live", "/health/ready"})
_METHODS = frozenset({"get", "put", "post", "patch", "delete"})


def name_operation(route: APIRoute) -> str:
    first, *following = route.name.split("_")
    return first + "".join(map(str.capitalize, following))


def install(
    app: FastAPI, more_paths: Mapping[str, Any], answers: Mapping[str, Any], bodies: Sequence[type[BaseModel]]
) -> None:
    """Adds what FastAPI does not know: path items, bodies, problems of every route of a kind.

    The document takes most of a second, so it is made at the first request for it.
    """

    def build_document() -> dict[str, Any]:
        document = get_openapi(
            title="Evenhand", version=API_VERSION, description=_DESCRIPTION, tags=_TAGS, routes=app.routes
        )
        for path, operations in document["paths"].items():
            for operation in operations.values() if path not in _OPEN_PATHS else ():
                implied = problems(
                    *([NotFound] if "{deployment_id}" in path else []),
                    *([TooLarge, UnsupportedMediaType] if "requestBody" in operation else []),
                )
                operation["responses"] |= {str(status): answer for status, answer in implied.items()}
        for path, operations in more_paths.items():
            document["paths"].setdefault(path, {}).update(operations)
        components = document.setdefault("components", {})
        unknown: list[tuple[type[BaseModel], JsonSchemaMode]] = [
            (Problem, "serialization"),
            *((body, "validation") for body in bodies),
        ]
        _, schemas = models_json_schema(unknown, ref_template="#/components/schemas/{model}")
        components.setdefault("schemas", {}).update(schemas["$defs"])
        # FastAPI leaves out members that are null, in examples too.
        for model in [*_list_models(In), *_list_models(Out)]:
            schema = components["schemas"].get(model.__name__)
            if schema is None:
                continue
            extra = model.model_config.get("json_schema_extra")
            if isinstance(extra, dict):
                schema["examples"] = extra["examples"]
            elif issubclass(model, PageOut):
                schema["examples"] = [model.build_example()]
            for name, text in _describe_members(model).items():
                schema["properties"][name]["description"] = text
        for path, answer in answers.items():  # FastAPI leaves out members that are null
            document["paths"][path]["post"]["responses"]["200"] = answer
        components["securitySchemes"] = _SECURITY_SCHEMES
        for path, item in document["paths"].items():
            for method in _METHODS.intersection(item):
                item[method]["security"] = (
                    [] if path in _OPEN_PATHS else [{name: []} for name in _SECURITY_SCHEMES]
                )
        return document

    app.openapi = cache(build_document)  # type: ignore[method-assign]


def _list_models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for inner in model.__subclasses__():
        yield inner
        yield from _list_models(inner)


def _describe_members(model: type[BaseModel]) -> dict[str, str]:
    """Docstrings below the members of a body, and of those that it inherits, by their names in JSON."""
    texts: dict[str, str] = {}
    for body in reversed(model.__mro__):
        if body.__module__.startswith(_PACKAGE):
            texts |= _read_docstrings(body.__module__)[body.__name__]
    return {
        field.serialization_alias or name: texts[name]
        for name, field in model.model_fields.items()
        if name in texts
    }


@cache
def _read_docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    # pydantic would read them when the classes are made, which takes each process of the service a second.
    return {
        body.name: {
            ast.unparse(member.target): " ".join(ast.literal_eval(text.value).split())
            for member, text in pairwise(body.body)
            if isinstance(member, ast.AnnAssign) and isinstance(text, ast.Expr)
        }
        for body in ast.parse(inspect.getsource(sys.modules[module])).body
        if isinstance(body, ast.ClassDef)
    }
