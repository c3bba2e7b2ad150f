"""Routes of monitor definitions: those that Evenhand measures, and those whose names the SDK needs before it does anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter

from ..errors import Conflict, NotFound
from ..metrics.catalogue import CATALOGUE
from ..security.principals import Permission
from ..web.access import AnyKey
from .bodies import Answer, is_among, resource
from .callers import CallerIn
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
async def read_definitions(_principal: AnyKey, id: str | None = None) -> Answer:  # noqa: A002 - the name in the address
    """Returns the definitions. Every key may read them: the SDK asks before anything else."""
    return {"monitor_definitions": [_answer(one) for one in DEFINITIONS.values() if is_among(id, one.id)]}


@router.get("/{monitor_definition_id}")
async def read_definition(monitor_definition_id: str, _principal: AnyKey) -> Answer:
    """Returns one definition."""
    return _answer(find_definition(monitor_definition_id))


@router.post("")
def add_definition(caller: CallerIn) -> Answer:
    """Refuses: metrics are those of Evenhand's catalogue."""
    caller.principal.require(Permission.MANAGE)
    raise Conflict(
        "Custom monitors are not supported by Evenhand. The definitions that there are can be listed; see `Move from OpenScale`."
    )


@router.put("/{monitor_definition_id}")
@router.patch("/{monitor_definition_id}")
@router.delete("/{monitor_definition_id}")
def change_definition(monitor_definition_id: str, caller: CallerIn) -> Answer:
    """Refuses: definitions are fixed."""
    caller.principal.require(Permission.MANAGE)
    name = find_definition(monitor_definition_id).name
    raise Conflict(f"Changing or deleting the monitor definition {name} is not supported by Evenhand: definitions are fixed.")


def find_definition(definition_id: str) -> MonitorDefinition:
    """Returns the definition of that id.

    Raises:
        NotFound: there is none.
    """
    found = DEFINITIONS.get(definition_id)
    if found is None:
        raise NotFound("monitor definition", ascii(definition_id)[1:-1][:100])
    return found


def require_measured(definition_id: str) -> MonitorDefinition:
    """Returns the definition, if Evenhand measures it.

    Raises:
        NotFound: there is none of that id.
        Conflict: Evenhand does not.
    """
    found = find_definition(definition_id)
    if found.id not in MEASURED:
        raise Conflict(f"{found.name} is not supported by Evenhand. Monitors of {', '.join(MEASURED)} can be created.")
    return found


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
