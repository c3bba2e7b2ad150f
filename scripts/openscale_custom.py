"""Custom monitors by the OpenScale SDK: defined, instantiated, and filled with figures that a script computed."""

import uuid
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    JsonPatchOperation,
    MetricThreshold,
    MetricThresholdOverride,
    MonitorMeasurementRequest,
    MonitorMetricRequest,
    MonitorTagRequest,
    Target,
)
from openscale_recording import Walk


def walk_custom_monitors(way: Walk, mart: str, subscription: str) -> None:
    """Walks the methods of a custom monitor and deletes it again, and refuses to change one of Evenhand's own."""
    definitions, instances = way.client.monitor_definitions, way.client.monitor_instances
    name = f"model performance {uuid.uuid4().hex[:8]}"
    stated: dict[str, Any] = {
        "metrics": [
            MonitorMetricRequest(name="sensitivity", thresholds=[MetricThreshold(type="lower_limit", default=0.8)]),
            MonitorMetricRequest(name="specificity", thresholds=[MetricThreshold(type="lower_limit", default=0.75)]),
        ],
        "tags": [MonitorTagRequest(name="region", description="customer geographical region")],
    }
    custom = way.does("monitor_definitions.add", lambda: definitions.add(name=name, **stated)).result.metadata.id
    way.does("monitor_definitions.update", lambda: definitions.update(custom, name=name, description="changed", **stated))
    patch = [JsonPatchOperation(op="replace", path="/description", value="patched")]
    way.does("monitor_definitions.patch", lambda: definitions.patch(custom, patch))
    target = Target(target_type="subscription", target_id=subscription)
    limit = [MetricThresholdOverride(metric_id="sensitivity", type="lower_limit", value=0.9)]
    wanted = {"monitor_definition_id": custom, "target": target, "parameters": {}, "thresholds": limit}
    added = way.does("monitor_instances.create (custom)", lambda: instances.create(data_mart_id=mart, **wanted))
    instance: str = added.result.metadata.id
    posted = {
        "timestamp": "2026-01-01T00:00:00Z",
        "run_id": "computed elsewhere",
        "metrics": [{"sensitivity": 0.67, "specificity": 0.78, "region": "us-south"}],
    }
    requests = [MonitorMeasurementRequest.from_dict(posted)]
    found = way.does("monitor_instances.measurements.add", lambda: instances.measurements.add(instance, requests)).result
    window = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z", "run_id": posted["run_id"]}
    way.does("monitor_instances.measurements.list (custom)", lambda: instances.measurements.list(instance, **window))
    measurement = found[0]["measurement_id"]
    way.does("monitor_instances.measurements.get (custom)", lambda: instances.measurements.get(instance, measurement))
    way.does("monitor_instances.show_metrics (custom)", lambda: instances.show_metrics(instance))
    way.does("monitor_instances.list_runs (custom)", lambda: instances.list_runs(instance))
    way.refuses("monitor_instances.run (custom)", lambda: instances.run(instance))
    way.does("monitor_instances.delete (custom)", lambda: instances.delete(instance))
    way.does("monitor_definitions.delete", lambda: definitions.delete(custom))
    way.refuses("monitor_definitions.update (fairness)", lambda: definitions.update("fairness", name="own", **stated))
    way.refuses("monitor_definitions.delete (fairness)", lambda: definitions.delete("fairness"))
    way.refuses("monitor_definitions.patch (fairness)", lambda: definitions.patch("fairness", patch))
