"""Methods of the OpenScale SDK that Evenhand does not support: each answers an error that says so."""

import inspect
import io
import os
import tempfile
from pathlib import Path
from typing import Any

from archive import written_archive
from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    JsonPatchOperation,
    MonitorMeasurementRequest,
    MonitorMetricRequest,
    MonitorTagRequest,
    PatchDocument,
    Target,
)
from recording import ZERO, Walk

SMALL_FILE = str(Path(__file__).with_name("__init__.py"))

SPARK = {"connection": {"endpoint": "http://127.0.0.1:9", "location_type": "custom"}, "credentials": {"username": "u", "password": "p"}}
WAREHOUSE: dict[str, Any] = {
    "type": "jdbc",
    "connection": {"jdbc_driver": "driver", "use_ssl": False, "jdbc_url": "jdbc:db2://127.0.0.1:9/SAMPLE"},
    "credentials": {"username": "u", "password": "p"},
}
TABLE = {"data": {"auto_create": True, "database": "SAMPLE", "schema": "S", "table": "T"}}


def walk_refusals(way: Walk, provider: str, subscription: str, payload: str, fairness: str) -> None:
    """Walks them all."""
    client = way.client
    target = Target(target_type="subscription", target_id=subscription)
    way.refuses(
        "monitor_instances.create (explainability)", data_mart_id=ZERO, monitor_definition_id="explainability", target=target, parameters={}
    )
    way.refuses("monitor_instances.create (drift)", data_mart_id=ZERO, monitor_definition_id="drift", target=target, parameters={})
    way.refuses("monitor_instances.explanation_tasks", ["one"], subscription_id=subscription)
    way.refuses("monitor_instances.get_explanation_tasks", "one", subscription_id=subscription)
    if "force" in inspect.signature(client.data_sets.delete).parameters:
        way.refuses("data_sets.delete (force)", payload, force=True)
    change = [PatchDocument(op="replace", path="/name", value="other")]
    way.refuses("data_sets.patch_records", payload, patch_document=change)
    patch = [JsonPatchOperation(op="replace", path="/name", value="other")]
    way.refuses("subscriptions.trigger_configuration_synchrozation", subscription)
    way.refuses("subscriptions.configuration_synchrozation_get", subscription)
    way.refuses("monitor_instances.get_all_explaination_tasks", subscription_id=subscription)
    way.refuses("integrated_systems.show")
    way.refuses("integrated_systems.get", "one")
    way.refuses("integrated_systems.delete", "one")
    system = {"name": "one", "type": "spark", "description": "", "credentials": {}, "connection": {}}
    way.refuses("integrated_systems.add", **system)
    way.refuses("integrated_systems.update", "one", patch)
    way.refuses("integrated_systems.list")
    way.refuses("monitor_instances.download_drift_model", fairness)
    way.refuses("monitor_instances.download_drift_model_metadata", fairness)
    way.refuses("monitor_instances.get_drift_v2_archive_metadata", subscription)
    way.refuses("monitor_instances.download_drift_v2_archive", subscription, "one")
    archive = io.BytesIO(b"an archive")
    archive.name = "explainability.tar.gz"
    way.refuses("monitor_instances.upload_explainability_archive", subscription_id=subscription, archive=archive)
    way.refuses("monitor_instances.upload_drift_model", model_path=SMALL_FILE, data_mart_id=ZERO, subscription_id=subscription)
    way.refuses("monitor_instances.upload_drift_v2_archive", subscription, SMALL_FILE)
    way.refuses("monitor_instances.get_explainability_archive", subscription)
    _refused_subscriptions(way, provider)


def walk_custom_monitors(way: Walk, mart: str, subscription: str) -> None:
    """Walks the methods of custom monitors."""
    stated: dict[str, Any] = {"metrics": [MonitorMetricRequest(name="sensitivity")], "tags": [MonitorTagRequest(name="region")]}
    patch = [JsonPatchOperation(op="replace", path="/description", value="patched")]
    for name, own in (("", "custom"), (" (fairness)", "fairness")):
        way.refuses(f"monitor_definitions.update{name}", own, name=own, **stated)
        way.refuses(f"monitor_definitions.patch{name}", own, patch)
        way.refuses(f"monitor_definitions.delete{name}", own)
    way.refuses("monitor_definitions.add", name="model performance", **stated)
    wanted = {"monitor_definition_id": "custom", "target": Target(target_type="subscription", target_id=subscription), "parameters": {}}
    way.refuses("monitor_instances.create (custom)", data_mart_id=mart, **wanted)
    instance = f"custom.{subscription}"
    posted = [MonitorMeasurementRequest.from_dict({"timestamp": "2026-01-01T00:00:00Z", "metrics": [{"sensitivity": 0.67}]})]
    way.refuses("monitor_instances.measurements.add", instance, posted)
    window = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-02T00:00:00Z", "run_id": "one"}
    way.refuses("monitor_instances.measurements.list (custom)", instance, **window)
    way.refuses("monitor_instances.measurements.get (custom)", instance, "one")
    way.refuses("monitor_instances.show_metrics (custom)", instance)
    way.refuses("monitor_instances.list_runs (custom)", instance)
    way.refuses("monitor_instances.run (custom)", instance)
    way.refuses("monitor_instances.delete (custom)", instance)


def _refused_subscriptions(way: Walk, provider: str) -> None:
    with written_archive() as archive:
        way.refuses("subscriptions.create_subscription", "batch", ZERO, provider, archive, SPARK, WAREHOUSE, TABLE, TABLE)
    info = {"label_column": "approved", "prediction": "prediction", "probability": "probability"}
    with tempfile.NamedTemporaryFile(suffix=".csv") as sample:
        sample.write(b"sex,approved\nmale,1\n")
        sample.flush()
        way.refuses(
            "subscriptions.create_subscription_using_training_data",
            "batch",
            ZERO,
            provider,
            info,
            os.fspath(sample.name),
            SPARK,
            WAREHOUSE,
            TABLE,
            TABLE,
            TABLE,
            "self",
        )
