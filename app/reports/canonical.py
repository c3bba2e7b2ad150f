"""Data of a report as canonical JSON: keys in order, no blanks, UTF-8, numbers unrounded.

Neither the time of making nor the author is in it: the same data give the same bytes.
"""

import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from ..base.values import Range
from ..charts.timeline import join_points
from ..checks.days.period import PeriodSums
from ..domain.check import Details
from .report_source import ReportSource, choose_step

FORMAT = 5
"""Grows with every change of a member."""


def write_canonical_json(source: ReportSource) -> bytes:
    check = source.check
    evidence = source.evidence
    deployment = source.deployment
    attribution = source.attribution
    # The endpoint holds a secret.
    deployment_members = {
        name: getattr(deployment, name)
        for name in ("id", "name", "problem_type", "schema", "outputs", "model_revision")
    }
    members = {
        "format": FORMAT,
        "kind": "check" if source.is_of_check else "period",
        "span": source.span,
        "deployment": deployment_members | {"has_endpoint": deployment.endpoint is not None},
        "monitor": source.monitor,
        "check": None
        if check is None
        else _select_members(check, {"no", "deployment_no", "lease_token", "progress"}),
        "measurements": source.measurements,
        "recent": [_select_members(figure, {"check_no"}) for figure in source.forest.recent],
        "checks": [_select_members(run, {"no"}) for run in source.runs],
        "series": [
            {
                "attribute": history.attribute,
                "data": history.data,
                "steps": [
                    _select_members(step, {"check_no"})
                    for step in join_points(history.points, source.span, choose_step(source.span))
                ],
            }
            for history in source.histories
        ],
        "evidence": None
        if evidence is None
        else [_select_members(state, {"alarms"}) for state in evidence.comparisons],
        "counted_until": None if evidence is None else evidence.era.counted_until,
        "alerts": [_select_members(alert, {"no", "deployment_no", "rule_no"}) for alert in source.alerts],
        "checks_without_alerts_yet": source.waiting,
        "missing_records": source.missing,
        "period": None if source.period is None else _describe_period(source.period),
        "evidence_by_group": [
            {"attribute": attribute, "group": group, "state": state}
            for (attribute, group), state in sorted(source.states.items())
        ],
        "attribution": None
        if attribution is None
        else {name: getattr(attribution, name) for name in ("id", "span", "finished_at", "result")},
    }
    return encode_canonical(_convert_to_json(members))


def encode_canonical(value: object) -> bytes:
    """Encodes a value of JSON; equal values are equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode()


def _describe_period(period: PeriodSums) -> dict[str, Any]:
    parts = [
        part.key._asdict()
        | _select_members(part, {"key", "comparisons"})
        | {
            "attributes": [
                _select_members(sums, {"records", "comparison"})
                | {"attribute": sums.comparison.label, "records": sums.records.to_json()}
                for sums in part.comparisons
            ]
        }
        for part in period.parts
    ]
    return _select_members(period, {"zone", "parts"}) | {"zone": period.zone.key, "parts": parts}


def _select_members(member: Any, left_out: AbstractSet[str]) -> dict[str, Any]:  # noqa: ANN401 - a dataclass or tuple
    names = member._fields if hasattr(member, "_fields") else [field.name for field in fields(member)]
    return {name: getattr(member, name) for name in names if name not in left_out}


def _convert_to_json(member: Any) -> Any:  # noqa: ANN401 - any part of the data
    match member:
        # Before numbers and texts: a member of an enumeration may be one.
        case Enum():
            return member.value
        # JSON has no infinity.
        case float() if not math.isfinite(member):
            return str(member)
        case datetime():
            return member.isoformat()
        case Details():
            return _convert_to_json(member.to_json())
        case Mapping():
            return {
                "none" if name is None else str(name): _convert_to_json(value)
                for name, value in member.items()
            }
        case Range():
            return member._asdict()
        case list() | tuple():
            return [_convert_to_json(element) for element in member]
        case _ if is_dataclass(member):
            return _convert_to_json(_select_members(member, set()))
        case _:
            return member
