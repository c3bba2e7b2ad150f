"""Changes as activities keep them: never a secret."""

from collections.abc import Mapping
from typing import Any

from ..access.audit.activity_queries import changes_between
from ..base.strict_json import JsonObject
from ..domain.monitor import Monitor
from .bodies import write_definition_json
from .monitor.bodies import MonitorIn, MonitorOut
from .queries import Definition
from .training.queries import TrainingSummary

_OF_MONITOR = {"version", *MonitorIn.model_fields}


def list_definition_changes(before: Definition | None, after: Definition | None) -> JsonObject:
    return changes_between(_list_definition_facts(before, None), _list_definition_facts(after, before))


def list_monitor_changes(before: Monitor | None, after: Monitor | None) -> JsonObject:
    return changes_between(_list_monitor_facts(before), _list_monitor_facts(after))


def list_training_data_changes(before: TrainingSummary | None, after: TrainingSummary | None) -> JsonObject:
    return changes_between(_list_summary_facts(before), _list_summary_facts(after))


def _list_definition_facts(definition: Definition | None, before: Definition | None) -> JsonObject:
    if definition is None:
        return {}
    document = write_definition_json(definition)
    endpoint = document["endpoint"]
    if endpoint:
        earlier = (write_definition_json(before)["endpoint"] if before else None) or {}
        if endpoint["credentials"]:
            is_changed = before is not None and endpoint["credentials"] != earlier.get("credentials")
            endpoint["credentials"] = "changed" if is_changed else "set"
        endpoint["headers"] = _hide_secrets(endpoint["headers"], earlier.get("headers"))
        endpoint["tls"] = _hide_secrets(endpoint["tls"], earlier.get("tls")) or None
    return document


def _hide_secrets(secrets: Mapping[str, str] | None, before: Mapping[str, str] | None) -> dict[str, str]:
    # If both sides said "set", a new password would be no change.
    earlier = {name: text for name, text in (before or {}).items() if text}
    return {
        name: "set" if earlier.get(name, text) == text else "changed"
        for name, text in (secrets or {}).items()
        if text
    }


def _list_monitor_facts(monitor: Monitor | None) -> Mapping[str, Any]:
    return {} if monitor is None else MonitorOut.of(monitor).model_dump(mode="json", include=_OF_MONITOR)


def _list_summary_facts(summary: TrainingSummary | None) -> Mapping[str, Any]:
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
