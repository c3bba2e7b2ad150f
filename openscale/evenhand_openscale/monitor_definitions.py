"""Routes of monitor definitions: those that Evenhand measures, those whose names the SDK needs, and those of custom monitors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Response

from ..errors import Conflict
from ..metrics.catalogue import CATALOGUE
from ..security.principals import Permission
from ..store.openscale.definitions import (
    StoredDefinition,
    add_definition,
    change_definition,
    count_instances,
    delete_definition,
    get_definition,
    list_definitions,
)
from .bodies import Answer, Operation, is_among, patched, read_as, resource
from .callers import Caller, CallerIn
from .custom_monitors import CustomMonitorIn, id_of
from .quality import ALL_QUALITY_METRICS, problem_types_of

router = APIRouter(prefix="/openscale/v2/monitor_definitions", tags=["monitor definitions"])

FAIRNESS, QUALITY, PERFORMANCE = "fairness", "quality", "performance"
MEASURED = (FAIRNESS, QUALITY, PERFORMANCE)

FAIRNESS_VALUE = "fairness_value"
DIFFERENCES = (
    "statistical_parity_difference",
    "average_odds_difference",
    "average_abs_odds_difference",
    "false_negative_rate_difference",
    "false_positive_rate_difference",
    "true_positive_rate_difference",
    "false_discovery_rate_difference",
    "false_omission_rate_difference",
    "error_rate_difference",
)
"""Metrics of the fairness monitor next to the fairness value, under the same keys in the catalogue."""

_SINCE = datetime(2026, 1, 1, tzinfo=UTC)
_KINDS = {"input_data_type": ["structured"], "problem_type": ["binary", "regression", "multiclass"], "target_type": ["subscription"]}
_FAIRNESS_TAGS = ("feature", "feature_value", "fairness_metric_type")


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorDefinition:
    """One definition. `metrics` are IBM's ids and the catalogue's keys for them."""

    id: str
    name: str
    description: str
    metrics: Mapping[str, str | None]
    tags: Sequence[str] = ()


_UNSUPPORTED = "Not supported by Evenhand. It is listed because the SDK needs its name; creating an instance answers an error."

DEFINITIONS: Mapping[str, MonitorDefinition] = {
    one.id: one
    for one in (
        MonitorDefinition(
            id=FAIRNESS,
            name="Fairness",
            description="Differences between groups in favourable outcomes.",
            metrics={FAIRNESS_VALUE: "openscale_fairness", **{key: key for key in DIFFERENCES}},
            tags=_FAIRNESS_TAGS,
        ),
        MonitorDefinition(
            id=QUALITY,
            name="Quality",
            description="Predictions compared with ground-truth labels.",
            metrics=ALL_QUALITY_METRICS,
            tags=("model_type",),
        ),
        MonitorDefinition(
            id=PERFORMANCE,
            name="Performance",
            description="Numbers of logged records.",
            metrics={"records": None},
        ),
        MonitorDefinition(id="explainability", name="Explainability", description=_UNSUPPORTED, metrics={}),
        MonitorDefinition(id="drift", name="Drift", description=_UNSUPPORTED, metrics={}),
        MonitorDefinition(id="mrm", name="Model risk management monitoring", description=_UNSUPPORTED, metrics={}),
    )
}


@router.get("")
def read_definitions(caller: CallerIn, id: str | None = None) -> Answer:  # noqa: A002 - the name in the address
    """Returns the definitions. Every key may read them: the SDK asks before anything else."""
    own = [_answer(one) for one in DEFINITIONS.values() if is_among(id, one.id)]
    return {"monitor_definitions": [*own, *(_custom_answer(one) for one in list_definitions(caller.session) if is_among(id, one.id))]}


@router.get("/{monitor_definition_id}")
def read_definition(monitor_definition_id: str, caller: CallerIn) -> Answer:
    """Returns one definition."""
    own = DEFINITIONS.get(monitor_definition_id)
    return _custom_answer(find_custom(caller, monitor_definition_id)) if own is None else _answer(own)


@router.post("", status_code=201)
def post_definition(body: CustomMonitorIn, caller: CallerIn, response: Response) -> Answer:
    """Adds the definition of a custom monitor, whose metrics are posted by scripts and never computed here."""
    caller.principal.require(Permission.MANAGE)
    _require_free(caller, body.name, None)
    stored = add_definition(caller.session, id_of(body.name), body.to_entity(), created_by=caller.principal.actor)
    response.headers["Location"] = f"/v2/monitor_definitions/{stored.id}"
    return _custom_answer(stored)


@router.put("/{monitor_definition_id}")
def put_definition(monitor_definition_id: str, body: CustomMonitorIn, caller: CallerIn) -> Answer:
    """Changes the definition of a custom monitor. Its id stays; metrics and tags of a monitor with instances stay, too."""
    caller.principal.require(Permission.MANAGE)
    _refuse_own(monitor_definition_id)
    stored = find_custom(caller, monitor_definition_id)
    _require_free(caller, body.name, stored.id)
    entity = body.to_entity()
    lost = [
        one["id"] for kind in ("metrics", "tags") for one in stored.entity[kind] if one["id"] not in {new["id"] for new in entity[kind]}
    ]
    count = count_instances(caller.session, stored.id) if lost else 0
    if count:
        raise Conflict(
            f"{', '.join(lost)} cannot be removed from {stored.entity['name']}: {count} monitor instances may have figures of it."
        )
    return _custom_answer(change_definition(caller.session, stored.id, entity))


@router.patch("/{monitor_definition_id}")
def patch_definition(monitor_definition_id: str, body: list[Operation], caller: CallerIn) -> Answer:
    """Changes the definition of a custom monitor by a JSON patch."""
    caller.principal.require(Permission.MANAGE)
    _refuse_own(monitor_definition_id)
    stored = find_custom(caller, monitor_definition_id)
    return put_definition(stored.id, read_as(CustomMonitorIn, patched(stored.entity, body)), caller)


@router.delete("/{monitor_definition_id}", status_code=202)
def remove_definition(monitor_definition_id: str, caller: CallerIn, *, force: bool = False) -> Answer:
    """Deletes the definition of a custom monitor; with `force` also its instances, with what was posted to them."""
    caller.principal.require(Permission.MANAGE)
    _refuse_own(monitor_definition_id)
    stored = find_custom(caller, monitor_definition_id)
    count = count_instances(caller.session, stored.id)
    if count and not force:
        raise Conflict(f"There are {count} monitor instances of {stored.entity['name']}. Delete them first, or delete it with force=True.")
    delete_definition(caller.session, stored.id)
    return {}


def _refuse_own(definition_id: str) -> None:
    if definition_id in DEFINITIONS:
        raise Conflict(
            f"Changing or deleting the monitor definition {DEFINITIONS[definition_id].name} is not supported by Evenhand:"
            " its own definitions are fixed."
        )


def _require_free(caller: Caller, name: str, changed_id: str | None) -> None:
    taken = {one.name for one in DEFINITIONS.values()} | {one.id for one in DEFINITIONS.values()}
    taken |= {one.entity["name"] for one in list_definitions(caller.session) if one.id != changed_id}
    # The SDK makes attributes of names, in which case is lost.
    if name.upper() in {one.upper() for one in taken} or (changed_id is None and id_of(name) in DEFINITIONS):
        raise Conflict(f"There is a monitor definition with the name {name!r:.100} already. Use it, or choose another name.")


def find_custom(caller: Caller, definition_id: str) -> StoredDefinition:
    """Returns the definition of a custom monitor.

    Raises:
        NotFound: there is none of that id.
    """
    return get_definition(caller.session, ascii(definition_id)[1:-1][:100])


def require_instantiable(caller: Caller, definition_id: str) -> str:
    """Returns the name of the definition, if there can be instances of it: Evenhand measures it, or scripts post its metrics.

    Raises:
        NotFound: there is none of that id.
        Conflict: it is neither.
    """
    found = DEFINITIONS.get(definition_id)
    if found is None:
        return str(find_custom(caller, definition_id).entity["name"])
    if found.id not in MEASURED:
        raise Conflict(f"{found.name} is not supported by Evenhand. Monitors of {', '.join(MEASURED)} can be created, and custom ones.")
    return found.name


def _custom_answer(stored: StoredDefinition) -> Answer:
    entity = {"parameters_schema": {}, "managed_by": "user", **stored.entity}
    url = f"/v2/monitor_definitions/{stored.id}"
    return resource(stored.id, url, entity, created_at=stored.created_at, created_by=stored.created_by, modified_at=stored.modified_at)


def _answer(definition: MonitorDefinition) -> Answer:
    entity = {
        "name": definition.name,
        "description": definition.description,
        "metrics": [_metric(definition.id, identifier, key) for identifier, key in definition.metrics.items()],
        "tags": [{"id": tag, "name": tag, "description": tag, "required": False} for tag in definition.tags],
        "parameters_schema": {},
        "applies_to": _KINDS,
        "managed_by": "Evenhand",
    }
    return resource(definition.id, f"/v2/monitor_definitions/{definition.id}", entity, created_at=_SINCE)


def _metric(definition_id: str, identifier: str, key: str | None) -> Answer:
    known = None if key is None else CATALOGUE[key]
    # The only metric in percent.
    is_percent = identifier == FAIRNESS_VALUE
    found: dict[str, Any] = {
        "id": identifier,
        "name": identifier.replace("_", " ").capitalize(),
        "description": "Number of logged records." if known is None else f"{known.title}: {known.formula}",
        "applies_to": {**_KINDS, "problem_type": problem_types_of(identifier)} if definition_id == QUALITY else _KINDS,
        "expected_direction": "unknown" if known is None else _DIRECTIONS.get(known.direction.value, "unknown"),
        "required": False,
    }
    if is_percent:
        found["thresholds"] = [{"type": "lower_limit", "default": 80.0}]
    return found


_DIRECTIONS = {"higher": "increasing", "lower": "decreasing"}
