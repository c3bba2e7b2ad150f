"""Figures of custom monitors: what an instance may ask for, the metrics that scripts post to it, and their limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import FieldProblem, InvalidInput
from .bodies import Answer, without_none
from .custom_monitors import NEVER_RUN
from .fairness import LOWER, UPPER, ThresholdIn


def require_postable(entity: Mapping[str, Any], parameters: Mapping[str, Any], thresholds: Sequence[ThresholdIn], schedule: object) -> None:
    """Returns if an instance of a custom monitor asks for nothing but to store what is posted.

    Raises:
        InvalidInput: it states a schedule or a provider of metrics, or a limit of a metric that the monitor does not have.
    """
    asked = ("custom_metrics_provider_id", "enable_custom_metric_runs", "llm_provider_id")
    problems = [FieldProblem(f"parameters.{name}", NEVER_RUN) for name in asked if parameters.get(name)]
    if schedule is not None:
        problems.append(FieldProblem("schedule", NEVER_RUN))
    known = [one["id"] for one in entity["metrics"]]
    for place, one in enumerate(thresholds):
        if one.metric_id not in known:
            message = f"{one.metric_id!r:.60} is no metric of {entity['name']}, which has {', '.join(known)}"
            problems.append(FieldProblem(f"thresholds[{place}].metric_id", message))
    if problems:
        raise InvalidInput(problems)


def posted_values(entity: Mapping[str, Any], place: int, metrics: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Returns posted metrics by their tags; `entity` is the definition's, `place` that of the measurement in the request.

    Raises:
        InvalidInput: a name is neither a metric nor a tag, a metric is no number, or a required one is missing.
    """
    problems: list[FieldProblem] = []
    values = []
    kinds = {one["id"]: kind for kind in ("metrics", "tags") for one in entity[kind]}
    for position, one in enumerate(metrics):
        where = f"[{place}].metrics[{position}]"
        found: dict[str, list[Answer]] = {"metrics": [], "tags": []}
        for name, value in one.items():
            kind, is_number = kinds.get(name), isinstance(value, int | float) and not isinstance(value, bool)
            if kind is None:
                known = f"which has the metrics {_names(entity, 'metrics')} and the tags {_names(entity, 'tags')}"
                problems.append(FieldProblem(f"{where}.{ascii(name)[1:-1][:100]}", f"is no metric and no tag of {entity['name']}, {known}"))
            elif kind == "metrics" and not is_number:
                problems.append(FieldProblem(f"{where}.{name}", f"must be a number, found {value!r:.60}"))
            elif kind == "tags" and not (is_number or isinstance(value, str)):
                problems.append(FieldProblem(f"{where}.{name}", f"must be a text or a number, found {value!r:.60}"))
            else:
                found[kind].append({"id": name, "value": float(value) if kind == "metrics" else str(value)})
        missing = [each["id"] for kind in ("metrics", "tags") for each in entity[kind] if each["required"] and each["id"] not in one]
        problems += [FieldProblem(f"{where}.{name}", f"is required by {entity['name']}") for name in missing]
        if not found["metrics"] and not problems:
            problems.append(FieldProblem(where, "must hold at least one metric"))
        values.append({"metrics": found["metrics"], "tags": found["tags"]})
    if problems:
        raise InvalidInput(problems)
    return values


def _names(entity: Mapping[str, Any], kind: str) -> str:
    return ", ".join(one["id"] for one in entity[kind]) or "none"


@dataclass(frozen=True, slots=True)
class CustomLimits:
    """Limits of a custom monitor's metrics: those of the instance, else the defaults of the definition."""

    entity: Mapping[str, Any]
    thresholds: Sequence[ThresholdIn]

    def applied(self, values: Sequence[Answer]) -> list[Answer]:
        """Returns values whose metrics have their limits."""
        return [
            {**value, "metrics": [{**metric, **self._of(metric["id"], value["tags"])} for metric in value["metrics"]]} for value in values
        ]

    def _of(self, metric: str, tags: Sequence[Answer]) -> Answer:
        defaults = {
            limit["type"]: limit.get("default") for one in self.entity["metrics"] if one["id"] == metric for limit in one["thresholds"]
        }
        own = {one.type: _limit_for(one, tags) for one in self.thresholds if one.metric_id == metric}
        return without_none({end: own.get(end, defaults.get(end)) for end in (LOWER, UPPER)})


def _limit_for(threshold: ThresholdIn, tags: Sequence[Answer]) -> float | None:
    present = {(tag["id"], tag["value"]) for tag in tags}
    for one in threshold.specific_values or ():
        if all((applies.key, applies.value) in present for applies in one.applies_to):
            return one.value
    return threshold.value
