"""Routes of monitor definitions: those that Evenhand measures, and those whose names the SDK needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter

from .bodies import is_among, resource
from .marts import SINCE
from .quality import ALL_QUALITY_METRICS, problem_types_of
from .refused import conflict, not_found, printable
from .v1 import V1, Json, V1In

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

_KINDS = {"input_data_type": ["structured"], "problem_type": ["binary", "regression", "multiclass"], "target_type": ["subscription"]}
_DIRECTIONS = {"higher": "increasing", "lower": "decreasing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorDefinition:
    """One definition. `metrics` are IBM's ids and the catalogue's keys for them."""

    name: str
    description: str = "Not supported by Evenhand. It is listed because the SDK needs its name; creating an instance answers an error."
    metrics: Mapping[str, str | None] = field(default_factory=dict)
    tags: Sequence[str] = ()


DEFINITIONS: Mapping[str, MonitorDefinition] = {
    FAIRNESS: MonitorDefinition(
        name="Fairness",
        description="Differences between groups in favourable outcomes.",
        metrics={FAIRNESS_VALUE: "openscale_fairness", **{key: key for key in DIFFERENCES}},
        tags=("feature", "feature_value", "fairness_metric_type"),
    ),
    QUALITY: MonitorDefinition(
        name="Quality",
        description="Predictions compared with ground-truth labels.",
        metrics=ALL_QUALITY_METRICS,
        tags=("model_type",),
    ),
    PERFORMANCE: MonitorDefinition(name="Performance", description="Numbers of logged records.", metrics={"records": None}),
    "explainability": MonitorDefinition(name="Explainability"),
    "drift": MonitorDefinition(name="Drift"),
    "mrm": MonitorDefinition(name="Model risk management monitoring"),
}


@router.get("")
async def read_definitions(v1: V1In, id: str | None = None) -> Json:  # noqa: A002 - the name in the address
    """Returns the definitions. Every key may read them: the SDK asks before anything else."""
    catalogue = await _read_catalogue(v1)
    return {"monitor_definitions": [_answer(definition_id, catalogue) for definition_id in DEFINITIONS if is_among(id, definition_id)]}


@router.get("/{monitor_definition_id}")
async def read_definition(monitor_definition_id: str, v1: V1In) -> Json:
    if monitor_definition_id not in DEFINITIONS:
        raise not_found("monitor definition", monitor_definition_id)
    return _answer(monitor_definition_id, await _read_catalogue(v1))


def require_measured(definition_id: str) -> str:
    """Returns the name of the definition. Raises Refused unless Evenhand measures it."""
    name = DEFINITIONS[definition_id].name if definition_id in DEFINITIONS else f"The custom monitor {printable(definition_id)}"
    if definition_id not in MEASURED:
        raise conflict(f"{name} is not supported by Evenhand, which has monitors of {', '.join(MEASURED)}.")
    return name


async def _read_catalogue(v1: V1) -> Mapping[str, Json]:
    state = v1.request.app.state
    if not hasattr(state, "catalogue"):
        state.catalogue = {metric["key"]: metric for metric in (await v1.ask("GET", "/v1/metrics"))["metrics"]}
    catalogue: Mapping[str, Json] = state.catalogue
    return catalogue


def _answer(definition_id: str, catalogue: Mapping[str, Json]) -> Json:
    definition = DEFINITIONS[definition_id]
    entity = {
        "name": definition.name,
        "description": definition.description,
        "metrics": [_metric(definition_id, identifier, catalogue.get(key or "")) for identifier, key in definition.metrics.items()],
        "tags": [{"id": tag, "name": tag, "description": tag, "required": False} for tag in definition.tags],
        "parameters_schema": {},
        "applies_to": _KINDS,
        "managed_by": "Evenhand",
    }
    return resource(definition_id, f"/v2/monitor_definitions/{definition_id}", entity, created_at=SINCE)


def _metric(definition_id: str, identifier: str, known: Json | None) -> Json:
    metric: Json = {
        "id": identifier,
        "name": identifier.replace("_", " ").capitalize(),
        "description": "Number of logged records." if known is None else f"{known['title']}: {known['formula']}",
        "applies_to": {**_KINDS, "problem_type": problem_types_of(identifier)} if definition_id == QUALITY else _KINDS,
        "expected_direction": "unknown" if known is None else _DIRECTIONS.get(known["direction"], "unknown"),
        "required": False,
    }
    if identifier == FAIRNESS_VALUE:
        metric["thresholds"] = [{"type": "lower_limit", "default": 80.0}]
    return metric
