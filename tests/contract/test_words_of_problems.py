"""What is wrong with a body, a parameter or a part of an address is said in words of ours, on every route."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic_core.core_schema import ErrorType

from app import main
from app.pages import application as pages
from app.web.problems import _SENTENCES, field_problems
from tests.builders.bodies import deployment
from tests.service import RunningService

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 10**30, 1e300, 1.5, "x", "", "\ud800", "2026-13-01", "9" * 5000, "x" * 20_000),
    *([], ["x"], [1], [None] * 2000, {}, {"x": 1}, {"kind": "x"}, [{}]),
)
_INPUTS = ("query_params", "path_params", "header_params", "body_params")
_PARTS = ("anyOf", "oneOf", "allOf", "prefixItems")


WITH_NAN = '{"name": "a", "outputs": {"classes": [1, NaN]}}'


def _routes() -> Iterator[APIRoute]:
    routers = (*main._ROUTERS, *pages._ROUTERS)  # noqa: SLF001 - the two lists of all routes
    for router in routers:
        yield from (route for route in router.routes if isinstance(route, APIRoute))


def _inputs(dependant: Dependant) -> Iterator[ModelField]:
    for inner in dependant.dependencies:
        yield from _inputs(inner)
    for kind in _INPUTS:
        yield from getattr(dependant, kind)


def _places(schema: dict[str, Any], definitions: dict[str, Any], deeper: int = 6) -> Iterator[tuple[str | int, ...]]:
    """Places of members and items in a body, as a JSON schema lists them."""
    yield ()
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if not deeper:
        return
    for one in (one for part in _PARTS for one in schema.get(part, ())):
        yield from _places(one, definitions, deeper - 1)
    named = [*schema.get("properties", {}).items(), (0, schema.get("items")), ("k", schema.get("additionalProperties"))]
    for member, below in named:
        if isinstance(below, dict):
            yield from ((member, *rest) for rest in _places(below, definitions, deeper - 1))


def _placed(place: tuple[str | int, ...], value: object) -> object:
    for member in reversed(place):
        value = [value] if member == 0 else {member: value}
    return value


def _findings(field: ModelField) -> Iterator[dict[str, Any]]:
    adapter: TypeAdapter[Any] = field._type_adapter  # noqa: SLF001 - with the limits of the parameter
    try:
        schema = adapter.json_schema()
    except Exception:  # noqa: BLE001 - a parameter that a function of ours reads has none
        schema = {}
    places = dict.fromkeys(_places(schema, schema.get("$defs", {})))
    for value in (_placed(place, wrong) for place in places for wrong in WRONG):
        try:
            adapter.validate_python(value)
        except ValidationError as error:
            yield from ({**one, "loc": ("body", field.alias, *one["loc"])} for one in error.errors())


def test_no_route_speaks_pydantics_words() -> None:
    own: set[str] = set()
    seen: set[str] = set()
    for route in _routes():
        for field in _inputs(route.dependant):
            for one in _findings(field):
                seen.add(one["type"])
                problem = field_problems([one])[0]
                if (
                    _SENTENCES.keys().isdisjoint((one["type"], one["type"].partition("_")[0]))
                    or re.search(r"\[\D", problem.field)
                    or one["msg"] in problem.message
                ):
                    own.add(f"{route.path}: {problem.field}: {one['type']}: {problem.message}")

    assert sorted(own)[:20] == []
    assert len(seen) > 20, seen
    assert set(_SENTENCES) <= {*get_args(ErrorType), "value_error"} | {kind.partition("_")[0] for kind in get_args(ErrorType)}


@pytest.mark.parametrize(
    ("method", "path", "sent", "field", "message"),
    [
        ("POST", "/v1/deployments", {"json": {"name": 7}}, "name", "must be text"),
        (
            "POST",
            "/v1/deployments",
            {"json": {"name": "a", "outputs": {"classes": [[]]}}},
            "outputs.classes[0]",
            "must be text, a number, true",
        ),
        ("POST", "/v1/deployments", {"json": []}, "body", "must be a JSON object"),
        ("POST", "/v1/deployments", {"content": "{", "headers": {"content-type": "application/json"}}, "body", "is not JSON ("),
        (
            "POST",
            "/v1/deployments",
            {"content": WITH_NAN, "headers": {"content-type": "application/json"}},
            "outputs.classes[1]",
            "must be text",
        ),
        ("GET", "/v1/deployments?limit=many", {}, "limit", "must be a whole number, found 'many'"),
        ("GET", "/v1/alerts?state=opened", {}, "state", "must be one of 'open', 'acknowledged' or 'resolved'; found 'opened'"),
        ("POST", "/v1/api-keys", {"json": {"name": "n", "role": "king"}}, "role", "must be one of "),
        ("GET", "/deployments/credit-risk/checks?state=done", {}, "state", "must be one of 'queued', "),
        ("GET", "/deployments/credit-risk/transactions?outcome=good", {}, "outcome", "must be one of 'favourable', 'unfavourable', "),
    ],
)
def test_a_problem_names_the_field_what_is_expected_and_what_came(
    service: RunningService, method: str, path: str, sent: dict[str, Any], field: str, message: str
) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()

    answer = service.client.request(method, path, **sent)

    assert answer.status_code == 422
    problem = {error["field"]: error["message"] for error in answer.json()["errors"]}
    assert problem[field].startswith(message)
