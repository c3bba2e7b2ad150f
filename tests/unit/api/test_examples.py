"""The examples of the OpenAPI document are bodies that the service takes, and answers that it gives."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeAlias
from urllib.parse import quote

import jsonschema_rs
import pytest
from pydantic import BaseModel, ValidationError

from app.checks.metric_routes import MetricOut
from app.checks.schedule.bodies import WorkersOut
from app.checks.schedule.worker_queries import WorkersSeen
from app.checks.views.measurement_bodies import SeriesMeasurementOut
from app.deployments.bodies import DeploymentIn, DeploymentOut
from app.deployments.monitor.bodies import MonitorIn, MonitorOut
from app.domain.check import DataSet, Details, Measurement, Scope
from app.domain.mitigation import MitigationSettings
from app.domain.monitor import Comparison
from app.main import _create_api
from app.mitigation.bodies import MitigationIn, MitigationOut
from app.statistics.catalogue import CATALOGUE
from app.web.body import In

Json: TypeAlias = Any


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The OpenAPI document, as clients get it. Its schemas allow no further members, where they do not say so."""
    found: dict[str, Any] = json.loads(json.dumps(_create_api().openapi()))
    _close(found)
    return found


def _close(node: Json) -> None:
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            node.setdefault("additionalProperties", False)
        for inner in node.values():
            _close(inner)
    elif isinstance(node, list):
        for inner in node:
            _close(inner)


def _examples(node: Json, place: str = "#") -> Iterator[tuple[str, Json]]:
    """Each example with the address of its schema: those of schemas, and of the bodies of requests and answers."""
    if isinstance(node, list):
        for index, inner in enumerate(node):
            yield from _examples(inner, f"{place}/{index}")
    if not isinstance(node, dict):
        return
    examples = node.get("examples", [])
    if isinstance(node.get("schema"), dict):
        found = [node["example"]] if "example" in node else []
        found += [example["value"] for example in examples.values()] if isinstance(examples, dict) else examples
        yield from ((f"{place}/schema", one) for one in found)
    elif isinstance(examples, list):
        yield from ((place, example) for example in examples)
    for name, inner in node.items():
        if name not in {"example", "examples"}:
            yield from _examples(inner, f"{place}/{quote(name.replace('~', '~0').replace('/', '~1'), safe='~')}")


def _example(document: dict[str, Any], name: str) -> Json:
    return document["components"]["schemas"][name]["examples"][0]


@pytest.mark.thorough
def test_each_example_has_the_members_and_types_that_its_schema_names(document: dict[str, Any]) -> None:
    parts = {name: document[name] for name in ("paths", "components")}
    found = list(_examples(parts))
    # Read once: each validator would read the whole document.
    registry = jsonschema_rs.Registry([("document:/", parts)])

    faults = [
        (place, list(fault.instance_path), fault.message)
        for place, example in found
        for fault in jsonschema_rs.Draft202012Validator(
            {"$ref": f"document:/{place}"}, registry=registry, validate_formats=True
        ).iter_errors(example)
    ]

    assert len(found) > 100
    assert faults == []


def test_an_example_with_a_member_too_few_or_too_many_is_seen(document: dict[str, Any]) -> None:
    parts = {name: document[name] for name in ("paths", "components")}
    known = jsonschema_rs.Draft202012Validator({**parts, "$ref": "#/components/schemas/MonitorOut"})
    monitor = _example(document, "MonitorOut")

    assert known.is_valid(monitor)
    assert not known.is_valid({name: value for name, value in monitor.items() if name != "seed"})
    assert not known.is_valid(monitor | {"sead": 1})


def test_each_example_of_a_request_is_read() -> None:
    read = []
    for model in _models(In):
        extra = model.model_config.get("json_schema_extra")
        for example in extra.get("examples", []) if isinstance(extra, dict) else []:
            try:
                sent = model.model_validate_json(json.dumps(example))
                if hasattr(sent, "to_domain"):
                    sent.to_domain()
            except ValidationError as error:
                pytest.fail(f"{model.__name__}: {error}")
            read.append(model.__name__)

    assert {"DeploymentIn", "MonitorIn", "MitigationIn", "AlertRuleIn", "AlertChannelIn", "CheckIn", "KeyIn", "UserIn"} <= set(read)


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def test_a_stored_monitor_is_the_one_that_was_sent(document: dict[str, Any]) -> None:
    sent = MonitorIn.model_validate_json(json.dumps(_example(document, "MonitorIn"))).to_domain()

    assert _json(MonitorOut.of(replace(sent, version=1))) == _example(document, "MonitorOut")


def test_a_stored_deployment_has_the_members_that_were_sent(document: dict[str, Any]) -> None:
    stored = _example(document, "DeploymentOut")
    sent = DeploymentIn.model_validate_json(json.dumps(_example(document, "DeploymentIn"))).to_domain()
    known = {name: stored[name] for name in ("name", "problem_type", "features", "meta", "outputs", "model_revision")}

    assert DeploymentOut.model_validate_json(json.dumps(stored)).model_dump(mode="json", include=set(known)) == known
    assert [(column.name, column.type.value, column.kind.value) for column in sent.features] == [
        (column["name"], column["type"], column["kind"]) for column in stored["features"]
    ]


def test_stored_settings_of_mitigation_are_those_that_were_sent(document: dict[str, Any]) -> None:
    monitor = MonitorIn.model_validate_json(json.dumps(_example(document, "MonitorIn"))).to_domain()
    sent = MitigationIn.model_validate_json(json.dumps(_example(document, "MitigationIn"))).read_as(MitigationSettings)

    assert _json(MitigationOut.of(replace(sent, version=2), monitor)) == _example(document, "MitigationOut")


def test_a_metric_is_the_row_of_the_catalogue(document: dict[str, Any]) -> None:
    example = _example(document, "MetricOut")

    assert _json(MetricOut.from_object(CATALOGUE[example["key"]])) == example


def test_a_notice_of_silent_workers_is_the_one_that_pages_show(document: dict[str, Any]) -> None:
    example = _example(document, "WorkersOut")
    seen = WorkersSeen(answering=example["answering"], last_seen_at=datetime.fromisoformat(example["last_seen_at"]))

    assert _json(WorkersOut.of(seen)) == example


def test_the_statements_of_a_measurement_follow_from_its_numbers(document: dict[str, Any]) -> None:
    found = [figure for _, example in _examples(document["components"]) for figure in _measurements(example)]

    assert len(found) > 3
    for figure in found:
        members = {field.name: figure[field.name] for field in fields(Measurement) if field.name != "comparison"}
        members["comparison"] = Comparison.from_label(figure["attribute"] or "")
        members |= {"data": DataSet(figure["data"]), "scope": Scope(figure["scope"]), "at": datetime.fromisoformat(figure["at"])}
        members["details"] = Details.from_json(figure["details"])
        computed = _json(SeriesMeasurementOut.of(Measurement(**members)))
        assert {name: computed[name] for name in figure if name not in {"check_id", "hours"}} == {
            name: value for name, value in figure.items() if name not in {"check_id", "hours"}
        }


def _measurements(node: Json) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "interval_method" in node and "beyond_limit" in node:
            yield node
        for inner in node.values():
            yield from _measurements(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _measurements(inner)


def _json(body: BaseModel) -> Json:
    return json.loads(body.model_dump_json(by_alias=True))
