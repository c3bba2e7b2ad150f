"""Monitors of a subscription by the OpenScale SDK: definitions, instances, runs and measurements."""

import inspect
import json
import time
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    MetricThresholdOverride,
    MonitorInstanceSchedule,
    MonitorMeasurementRequest,
    PatchDocument,
    ScheduleStartTime,
    Target,
)
from ibm_watson_openscale.model import Model
from recording import BROKEN, Walk


def walk_definitions(way: Walk) -> None:
    """Reads the definitions."""
    way.does("monitor_definitions.list")
    way.does("monitor_definitions.show")
    way.does("monitor_definitions.get", "fairness")


def walk_instances(way: Walk, mart: str, subscription: str) -> str:
    """Adds instances of fairness and quality, waits for the first one's own run, changes it and returns its id."""
    client = way.client
    monitors = client.monitor_definitions.MONITORS
    target = Target(target_type="subscription", target_id=subscription)
    parameters = {
        "features": [
            {"feature": "sex", "majority": ["male"], "minority": ["female"], "threshold": 0.95},
            {"feature": "age", "majority": [[40, 99]], "minority": [[18, 39]], "threshold": 0.8},
        ],
        "favourable_class": [1],
        "unfavourable_class": [0],
        "min_records": 10,
    }
    limit = [MetricThresholdOverride(metric_id=monitors.FAIRNESS.METRIC.FAIRNESS_VALUE, type="lower_limit", value=80)]
    hourly = MonitorInstanceSchedule(
        repeat_interval=1, repeat_unit="hour", start_time=ScheduleStartTime(type="relative", delay_unit="minute", delay=30)
    )
    added = way.does(
        "monitor_instances.create",
        data_mart_id=mart,
        monitor_definition_id=monitors.FAIRNESS.ID,
        target=target,
        parameters=parameters,
        thresholds=limit,
        schedule=hourly,
        background_mode=True,
    )
    fairness: str = added.result.metadata.id
    runs = way.does("monitor_instances.list_runs", fairness).result.to_dict()["runs"]
    # What it shows depends on whether the monitor changes before its end.
    _wait(client, fairness, runs[0]["metadata"]["id"])
    way.does(
        "monitor_instances.create (quality)",
        data_mart_id=mart,
        monitor_definition_id=monitors.QUALITY.ID,
        target=target,
        parameters={"min_feedback_data_size": 10},
        thresholds=[MetricThresholdOverride(metric_id="accuracy", type="lower_limit", value=0.8)],
    )
    way.does("monitor_instances.list", target_target_id=subscription)
    way.does("monitor_instances.show")
    way.does("monitor_instances.get", fairness)
    change = [PatchDocument(op="replace", path="/parameters/min_records", value=20)]
    way.does("monitor_instances.update", fairness, patch_document=change)
    way.does("monitor_instances.modify_schedule", fairness, 1, "hour")
    return fairness


def walk_runs(way: Walk, fairness: str) -> str:
    """Runs the instance and returns the run's id."""
    client = way.client
    added = way.does("monitor_instances.run", fairness, background_mode=True)
    run: str = added.result.metadata.id
    _wait(client, fairness, run)
    details = way.does("monitor_instances.get_run_details", fairness, run)
    state = details.result.entity.status.state
    if state != "finished":
        way.found["monitor_instances.run"] = BROKEN
        way.said["monitor_instances.run"] = str(details.result)
    client.monitor_instances.list_runs(fairness)
    return run


def _wait(client: Any, fairness: str, run: str) -> None:  # noqa: ANN401 - the SDK's
    while client.monitor_instances.get_run_details(fairness, run).result.entity.status.state == "running":
        time.sleep(0.2)


def walk_measurements(way: Walk, fairness: str, run: str) -> None:
    """Reads what the run measured, one by one and aggregated."""
    client = way.client
    now = datetime.now(timezone.utc)  # noqa: UP017 - the older SDK runs on older Pythons
    # Far ahead, so that the recorded calls find measurements whenever they are replayed.
    window = {"start": now - timedelta(days=1), "end": datetime(2100, 1, 1, tzinfo=timezone.utc)}  # noqa: UP017 - as above
    way.does("monitor_instances.show_metrics", fairness)
    quality = fairness.replace("fairness.", "quality.")
    way.does("monitor_instances.show_metrics (quality)", quality)
    way.does("monitor_instances.list_measurements", fairness, run_id=run, **window)
    details = way.does("monitor_instances.get_measurement_details", fairness, run)
    way.said["summary"] = json.dumps([source.to_dict() for source in details.result.entity.sources], default=str)
    subscription = fairness.partition(".")[2]
    way.does(
        "monitor_instances.measurements.query",
        target_id=subscription,
        target_type="subscription",
        monitor_definition_id="fairness",
        recent_count=1,
    )
    way.does("monitor_instances.get_metrics", fairness, interval="month", **window)
    of_sex = {"filter": "feature:eq:sex", **window}
    way.does("monitor_instances.list_measurements (filter)", fairness, **of_sex)
    # The older SDK knows no other function than the last value.
    has_functions = "agg" in inspect.signature(client.monitor_instances.get_metrics).parameters
    functions = {"agg": ":avg,:count"} if has_functions else {}
    way.does("monitor_instances.get_metrics (filter)", fairness, **of_sex, **functions)
    way.does("monitor_instances.get_metrics_count", fairness, interval="year", **window)
    past = {
        "timestamp": "2026-01-01T00:00:00Z",
        "run_id": "imported",
        "metrics": [{"fairness_value": 94.7, "feature": "sex"}],
        "sources": [],
    }
    posted = [MonitorMeasurementRequest.from_dict(past)]
    way.refuses("monitor_instances.add_measurements", fairness, posted)


def walk_recommendations(way: Walk, subscription: str) -> None:
    """Asks for recommended features with the SDK's own calls within `model.evaluate`, the rest of which is of another service."""
    model, request = Model(way.client), {"headers": {"Content-Type": "application/json"}}
    way.client.authenticator.authenticate(request)
    # Set by `evaluate`. The newer SDK's own way to the headers names classes that it does not import.
    model._model = SimpleNamespace(fairness_config=SimpleNamespace(favorable_classes=[1], unfavorable_classes=[0]))  # noqa: SLF001
    model._get_headers = lambda: request["headers"]  # noqa: SLF001 - as above
    way.does("model.evaluate (recommended features)", subscription, call=model._get_recommended_features)  # noqa: SLF001 - the only way
