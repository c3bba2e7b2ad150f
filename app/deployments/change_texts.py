"""Changes as activities keep them: never a secret."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..access.audit.changed_values import changes_between
from ..domain.monitor import Monitor
from .bodies import definition_json
from .definition import Definition
from .monitor.bodies import MonitorIn, MonitorOut
from .training.training_facts import TrainingSummary

_OF_MONITOR = {"version", *MonitorIn.model_fields}


def definition_changes(before: Definition | None, after: Definition | None) -> dict[str, Any]:
    """Differences of two definitions; of the credentials only that they were set or changed."""
    old, new = _definition_facts(before), _definition_facts(after)
    if old and new and new["endpoint"] and new["endpoint"]["credentials"] and _find_credentials(before) != _find_credentials(after):
        # Else both sides would say "set", and a new password would be no change.
        new["endpoint"]["credentials"] = "changed"
    tls_before, tls_after = _find_tls(before), _find_tls(after)
    for member in tls_before.keys() & tls_after.keys():
        if tls_before[member] != tls_after[member]:
            new["endpoint"]["tls"][member] = "changed"
    headers_before, headers_after = _find_headers(before), _find_headers(after)
    if new and new["endpoint"]:
        for name, value in headers_after.items():
            if headers_before.get(name, value) != value:
                new["endpoint"]["headers"][name] = "changed"
    return changes_between(old, new)


def monitor_changes(before: Monitor | None, after: Monitor | None) -> dict[str, Any]:
    return changes_between(_monitor_facts(before), _monitor_facts(after))


def training_data_changes(before: TrainingSummary | None, after: TrainingSummary | None) -> dict[str, Any]:
    return changes_between(_summary_facts(before), _summary_facts(after))


def _definition_facts(definition: Definition | None) -> dict[str, Any]:
    if definition is None:
        return {}
    document = definition_json(definition)
    if document["endpoint"] and document["endpoint"]["credentials"]:
        document["endpoint"]["credentials"] = "set"
    if document["endpoint"]:
        document["endpoint"]["headers"] = dict.fromkeys(document["endpoint"]["headers"], "set")
        document["endpoint"]["tls"] = dict.fromkeys(_find_tls(definition), "set") or None
    return document


def _find_headers(definition: Definition | None) -> Mapping[str, str]:
    return definition.endpoint.headers if definition and definition.endpoint else {}


def _find_tls(definition: Definition | None) -> Mapping[str, str]:
    tls = definition.endpoint.tls if definition and definition.endpoint else None
    return {} if tls is None else {member: text for member, text in asdict(tls).items() if text}


def _find_credentials(definition: Definition | None) -> object:
    return definition and definition.endpoint and definition.endpoint.credentials


def _monitor_facts(monitor: Monitor | None) -> Mapping[str, Any]:
    return {} if monitor is None else MonitorOut.of(monitor).model_dump(mode="json", include=_OF_MONITOR)


def _summary_facts(summary: TrainingSummary | None) -> Mapping[str, Any]:
    if summary is None:
        return {}
    return {
        "form": summary.form.value,
        "records": summary.records,
        "label": summary.label,
        "weight": summary.weight,
        "schema_version": summary.schema_version,
        "processed_at": summary.processed_at.isoformat(),
    }
