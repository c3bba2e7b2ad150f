"""What a change of a deployment or of its settings is remembered by: what was and what is, never a secret."""

from collections.abc import Mapping
from typing import Any

from app.api.schemas.deployments import definition_json
from app.api.schemas.mitigation import MitigationIn, MitigationOut
from app.api.schemas.monitors import MonitorIn, MonitorOut
from app.domain.changes import changes_between
from app.domain.definitions import Definition
from app.domain.mitigation import MitigationSettings
from app.domain.monitors import Monitor
from app.domain.training_data import TrainingSummary

_OF_SETTINGS = {"version", *MitigationIn.model_fields}
_OF_MONITOR = {"version", *MonitorIn.model_fields}


def definition_changes(before: Definition | None, after: Definition | None) -> dict[str, Any]:
    """What differs between two definitions of a deployment; of its credentials only that they were set or changed."""
    old, new = _definition(before), _definition(after)
    if old and new and new["endpoint"] and new["endpoint"]["credentials"] and _credentials(before) != _credentials(after):
        new["endpoint"]["credentials"] = "changed"
    return changes_between(old, new)


def monitor_changes(before: Monitor | None, after: Monitor | None) -> dict[str, Any]:
    """What differs between two configurations of a fairness monitor, their versions among it."""
    return changes_between(_monitor(before), _monitor(after))


def settings_changes(before: MitigationSettings, after: MitigationSettings) -> dict[str, Any]:
    """What differs between two settings of mitigation, their versions among it."""
    return changes_between(_settings(before), _settings(after))


def training_data_changes(before: TrainingSummary | None, after: TrainingSummary | None) -> dict[str, Any]:
    """What differs between two uploads, as far as it can be told in a few words."""
    return changes_between(_summary(before), _summary(after))


def _definition(definition: Definition | None) -> dict[str, Any]:
    if definition is None:
        return {}
    document = definition_json(definition)
    if document["endpoint"] and document["endpoint"]["credentials"]:
        document["endpoint"]["credentials"] = "set"
    return document


def _credentials(definition: Definition | None) -> object:
    return definition and definition.endpoint and definition.endpoint.credentials


def _monitor(monitor: Monitor | None) -> Mapping[str, Any]:
    return {} if monitor is None else MonitorOut.of(monitor).model_dump(mode="json", include=_OF_MONITOR)


def _settings(settings: MitigationSettings) -> Mapping[str, Any]:
    return MitigationOut.of(settings, None).model_dump(mode="json", include=_OF_SETTINGS)


def _summary(summary: TrainingSummary | None) -> Mapping[str, Any]:
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
