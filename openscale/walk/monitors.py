"""Monitors of a subscription by the OpenScale SDK: instances, runs and measurements."""

import io
import json
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    MetricThresholdOverride,
    MonitorInstanceSchedule,
    MonitorMeasurementRequest,
    ScheduleStartTime,
    Target,
)
from ibm_watson_openscale.model import Model
from recording import ZERO, Walk

PARAMETERS = {
    "features": [
        {"feature": "sex", "majority": ["male"], "minority": ["female"], "threshold": 0.95},
        {"feature": "age", "majority": [[40, 99]], "minority": [[18, 39]], "threshold": 0.8},
    ],
    "favourable_class": [1],
    "unfavourable_class": [0],
    "min_records": 10,
}
LIMIT = {"metric_id": "fairness_value", "type": "lower_limit", "value": 80}


def walk_instances(way: Walk, mart: str, subscription: str) -> str:
    """Adds instances of fairness and quality, waits for the first one's own run, and returns the id of that of fairness."""
    target = Target(target_type="subscription", target_id=subscription)
    hourly = MonitorInstanceSchedule(
        repeat_interval=1, repeat_unit="hour", start_time=ScheduleStartTime(type="relative", delay_unit="minute", delay=30)
    )
    added = way.does(
        "monitor_instances.create",
        data_mart_id=mart,
        monitor_definition_id=way.client.monitor_definitions.MONITORS.FAIRNESS.ID,
        target=target,
        parameters=PARAMETERS,
        thresholds=[MetricThresholdOverride(**LIMIT)],
        schedule=hourly,
        background_mode=True,
    )
    fairness: str = added.result.metadata.id
    runs = way.does("monitor_instances.list_runs", fairness).result.to_dict()["runs"]
    # What it shows depends on whether the monitor changes before its end.
    _wait(way, fairness, runs[0]["metadata"]["id"])
    way.does(
        "monitor_instances.create (quality)",
        data_mart_id=mart,
        monitor_definition_id="quality",
        target=target,
        parameters={"min_feedback_data_size": 10},
        thresholds=[MetricThresholdOverride(metric_id="accuracy", type="lower_limit", value=0.8)],
    )
    way.does("monitor_instances.modify_schedule", fairness, 1, "hour")
    return fairness


def walk_runs(way: Walk, fairness: str) -> str:
    run: str = way.does("monitor_instances.run", fairness, background_mode=True).result.metadata.id
    assert _wait(way, fairness, run) == "finished"
    way.does("monitor_instances.list_runs", fairness)
    return run


def _wait(way: Walk, fairness: str, run: str) -> str:
    while (state := way.does("monitor_instances.get_run_details", fairness, run).result.entity.status.state) == "running":
        time.sleep(0.2)
    return str(state)


def walk_measurements(way: Walk, fairness: str, run: str) -> None:
    # Far ahead, so that the recorded calls find measurements whenever they are replayed. The older SDK runs on older Pythons.
    end = datetime(2100, 1, 1, tzinfo=timezone.utc)  # noqa: UP017
    window = {"start": datetime.now(timezone.utc) - timedelta(days=1), "end": end}  # noqa: UP017
    _, _, subscription = fairness.partition(".")
    way.does("monitor_instances.show_metrics", fairness)
    way.does("monitor_instances.show_metrics (quality)", f"quality.{subscription}")
    way.does("monitor_instances.list_measurements", fairness, run_id=run, **window)
    way.does("monitor_instances.get_measurement_details", fairness, run)
    way.does(
        "monitor_instances.measurements.query",
        target_id=subscription,
        target_type="subscription",
        monitor_definition_id="fairness",
        recent_count=1,
    )
    way.does("monitor_instances.get_metrics", fairness, interval="month", **window)
    window["filter"] = "feature:eq:sex"
    way.does("monitor_instances.list_measurements (filter)", fairness, **window)
    # The older SDK knows no other function than the last value.
    way.does("monitor_instances.get_metrics (filter)", fairness, agg=":avg,:count", **window)
    way.does("monitor_instances.get_metrics_count", fairness, interval="year", **window)
    posted = {"timestamp": "2026-01-01T00:00:00Z", "run_id": "imported", "metrics": [{"fairness_value": 94.7}], "sources": []}
    way.refuses("monitor_instances.add_measurements", fairness, [MonitorMeasurementRequest.from_dict(posted)])


def walk_recommendations(way: Walk, subscription: str) -> None:
    """Asks for recommended features with the SDK's own calls within `model.evaluate`, the rest of which is of another service."""
    model, request = Model(way.client), {"headers": {"Content-Type": "application/json"}}
    way.client.authenticator.authenticate(request)
    # Set by `evaluate`. The newer SDK's own way to the headers names classes that it does not import.
    model._model = SimpleNamespace(fairness_config=SimpleNamespace(favorable_classes=[1], unfavorable_classes=[0]))  # noqa: SLF001
    model._get_headers = lambda: request["headers"]  # noqa: SLF001 - as above
    way.does("model.evaluate (recommended features)", subscription, call=model._get_recommended_features)  # noqa: SLF001 - the only way


@contextmanager
def written_archive() -> Iterator[str]:
    """Yields the path of a configuration archive of fairness and quality, which is deleted after the block."""
    contents: dict[str, Any] = {
        "common_configuration": {"common_configuration": {"problem_type": "binary", "enable_fairness": True, "enable_quality": True}},
        "fairness_statistics": {"parameters": PARAMETERS, "thresholds": [LIMIT]},
    }
    with tempfile.NamedTemporaryFile(suffix=".tar.gz") as file:
        with tarfile.open(file.name, "w:gz") as archive:
            for name, content in contents.items():
                written = json.dumps(content).encode()
                member = tarfile.TarInfo(f"{name}.json")
                member.size = len(written)
                archive.addfile(member, io.BytesIO(written))
        yield file.name


def walk_archive(way: Walk, provider: str, subscription: str) -> None:
    with written_archive() as archive:
        enabled = way.does("monitor_instances.enable_monitors", ZERO, provider, subscription, archive)
    assert enabled is None or sorted(enabled) == ["fairness", "quality"], enabled
