"""Methods of the OpenScale SDK that Evenhand does not support: each answers an error that says so."""

import io
import tempfile
from pathlib import Path
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    MonitorMeasurementRequest,
    MonitorMetricRequest,
    MonitorTagRequest,
    Target,
)
from monitors import written_archive
from recording import ZERO, Walk, change

SMALL_FILE = str(Path(__file__).with_name("__init__.py"))

SPARK = {"connection": {"endpoint": "http://127.0.0.1:9", "location_type": "custom"}, "credentials": {"username": "u", "password": "p"}}
WAREHOUSE: dict[str, Any] = {
    "type": "jdbc",
    "connection": {"jdbc_driver": "driver", "use_ssl": False, "jdbc_url": "jdbc:db2://127.0.0.1:9/SAMPLE"},
    "credentials": {"username": "u", "password": "p"},
}
TABLE = {"data": {"auto_create": True, "database": "SAMPLE", "schema": "S", "table": "T"}}


def walk_refusals(way: Walk, provider: str, subscription: str, payload: str, fairness: str) -> None:
    target = Target(target_type="subscription", target_id=subscription)
    for kind in ("custom", "drift"):
        way.refuses(f"monitor_instances.create ({kind})", data_mart_id=ZERO, monitor_definition_id=kind, target=target, parameters={})
    for name, *arguments in (
        ("data_sets.patch_records", payload, change("/name")),
        ("integrated_systems.add", "system", "", "spark", {}, {}),
        ("integrated_systems.delete", "system"),
        ("integrated_systems.get", "system"),
        ("integrated_systems.list",),
        ("integrated_systems.show",),
        ("integrated_systems.update", "system", change("/name")),
        ("monitor_definitions.delete", "custom"),
        ("monitor_definitions.patch", "custom", change()),
        ("monitor_instances.download_drift_model", fairness),
        ("monitor_instances.download_drift_model_metadata", fairness),
        ("monitor_instances.download_drift_v2_archive", subscription, "drift"),
        ("monitor_instances.get_drift_v2_archive_metadata", subscription),
        ("monitor_instances.get_explainability_archive", subscription),
        ("monitor_instances.upload_drift_v2_archive", subscription, SMALL_FILE),
        ("subscriptions.configuration_synchrozation_get", subscription),
        ("subscriptions.trigger_configuration_synchrozation", subscription),
    ):
        way.refuses(name, *arguments)
    way.refuses("data_sets.delete (force)", payload, force=True)
    way.refuses("monitor_instances.explanation_tasks", ["record"], subscription_id=subscription)
    way.refuses("monitor_instances.get_explanation_tasks", "task", subscription_id=subscription)
    way.refuses("monitor_instances.get_all_explaination_tasks", subscription_id=subscription)
    archive = io.BytesIO(b"an archive")
    archive.name = "explainability.tar.gz"
    way.refuses("monitor_instances.upload_explainability_archive", subscription_id=subscription, archive=archive)
    way.refuses("monitor_instances.upload_drift_model", model_path=SMALL_FILE, data_mart_id=ZERO, subscription_id=subscription)
    stated: dict[str, Any] = {"metrics": [MonitorMetricRequest(name="sensitivity")], "tags": [MonitorTagRequest(name="region")]}
    way.refuses("monitor_definitions.update", "custom", name="custom", **stated)
    way.refuses("monitor_definitions.add", name="model performance", **stated)
    posted = [MonitorMeasurementRequest.from_dict({"timestamp": "2026-01-01T00:00:00Z", "metrics": [{"sensitivity": 0.67}]})]
    way.refuses("monitor_instances.measurements.add", f"custom.{subscription}", posted)
    with written_archive() as written:
        way.refuses("subscriptions.create_subscription", "batch", ZERO, provider, written, SPARK, WAREHOUSE, TABLE, TABLE)
    info = {"label_column": "approved", "prediction": "prediction", "probability": "probability"}
    with tempfile.NamedTemporaryFile(suffix=".csv") as sample:
        sample.write(b"sex,approved\nmale,1\n")
        sample.flush()
        batch = ("batch", ZERO, provider, info, sample.name, SPARK, WAREHOUSE, TABLE, TABLE, TABLE, "self")
        way.refuses("subscriptions.create_subscription_using_training_data", *batch)
