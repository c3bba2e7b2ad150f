"""Walks through the OpenScale SDK against a running Evenhand, method by method, and says what each one did.

It imports the SDK, the standard library and files next to it, so that it runs in an environment that holds nothing else:

    python scripts/openscale_walk.py WALK.json [CALLS.json]

WALK.json names the service, the model's address, an API key and a user with a password; the last line printed is the result as JSON.
CALLS.json gets the calls of the first authenticator with their answers, which a test replays without the SDK.
"""

import inspect
import io
import json
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    Asset,
    AssetDeploymentRequest,
    AssetPropertiesRequest,
    CustomCredentials,
    Distributions,
    JsonPatchOperation,
    MetricThresholdOverride,
    MonitorInstanceSchedule,
    MonitorMeasurementRequest,
    PatchDocument,
    ScheduleStartTime,
    ScoringEndpointRequest,
    Target,
)
from ibm_watson_openscale.supporting_classes.payload_record import PayloadRecord
from openscale_custom import walk_custom_monitors
from openscale_recording import BROKEN, FEATURES, KINDS, RICH, WORKS, ZERO, Plan, Recorder, Walk, answers, rows, schema
from openscale_speed import measure_speed


def walk(way: Walk, plan: Plan, kind: str) -> None:
    """Walks every method of the map with one authenticator."""
    way.found["APIClient"] = WORKS
    client, name = way.client, f"walk {kind} {uuid.uuid4().hex[:8]}"
    mart = _marts(way)
    provider = _providers(way, name)
    subscription = _subscriptions(way, plan, name, mart, provider)
    payload, feedback = _data_sets(way, subscription)
    _records(way, payload, feedback)
    _definitions(way)
    fairness = _instances(way, mart, subscription)
    run = _runs(way, fairness)
    _measurements(way, fairness, run)
    walk_custom_monitors(way, mart, subscription)
    _refused(way, subscription, payload, fairness)
    way.does("subscriptions.score", lambda: client.subscriptions.score(subscription, fields=FEATURES, values=rows()[:2]).result.to_dict())  # noqa: PLW0108
    way.does("data_sets.delete", lambda: client.data_sets.delete(payload))
    way.does("monitor_instances.delete", lambda: client.monitor_instances.delete(fairness))
    way.does("subscriptions.delete", lambda: client.subscriptions.delete(subscription, force=True))
    way.does("service_providers.delete", lambda: client.service_providers.delete(provider))
    extra = client.data_marts.add(name="another").result.metadata.id
    way.does("data_marts.delete", lambda: client.data_marts.delete(extra, force=True))


def _marts(way: Walk) -> str:
    client = way.client
    way.does("data_marts.list", client.data_marts.list)
    way.does("data_marts.show", client.data_marts.show)
    way.does("data_marts.add", lambda: client.data_marts.add(name="walk", internal_database=True, background_mode=True))
    mart: str = client.data_marts.list().result.data_marts[0].metadata.id
    way.does("data_marts.get", lambda: client.data_marts.get(mart))
    change = [JsonPatchOperation(op="replace", path="/description", value="changed")]
    way.does("data_marts.patch", lambda: client.data_marts.patch(mart, change))
    return mart


def _providers(way: Walk, name: str) -> str:
    client = way.client
    own = CustomCredentials(url="http://127.0.0.1:9", username="model", password="model")  # noqa: S106 - of no one
    added = way.does(
        "service_providers.add",
        lambda: client.service_providers.add(
            name=name, service_type="custom_machine_learning", credentials=own, operational_space_id="production", background_mode=True
        ),
    )
    provider: str = added.result.metadata.id
    way.does("service_providers.list", client.service_providers.list)
    way.does("service_providers.show", client.service_providers.show)
    way.does("service_providers.get", lambda: client.service_providers.get(provider))
    change = [PatchDocument(op="replace", path="/description", value="changed")]
    way.does("service_providers.update", lambda: client.service_providers.update(provider, patch_document=change))
    return provider


def _subscriptions(way: Walk, plan: Plan, name: str, mart: str, provider: str) -> str:
    client = way.client
    properties = AssetPropertiesRequest(
        label_column="approved",
        prediction_field="prediction",
        probability_fields=["probability"],
        feature_fields=FEATURES,
        categorical_fields=["sex"],
        input_data_schema=schema(),
        training_data_schema=schema(with_label=True),
    )
    added = way.does(
        "subscriptions.add",
        lambda: client.subscriptions.add(
            data_mart_id=mart,
            service_provider_id=provider,
            asset=Asset(asset_id=name, name=name, asset_type="model", problem_type="binary", input_data_type="structured"),
            deployment=AssetDeploymentRequest(
                deployment_id=name, name=name, deployment_type="online", scoring_endpoint=ScoringEndpointRequest(url=plan.model_url)
            ),
            asset_properties=properties,
            background_mode=True,
        ),
    )
    subscription: str = added.result.metadata.id
    way.does("subscriptions.list", client.subscriptions.list)
    way.does("subscriptions.show", client.subscriptions.show)
    way.does("subscriptions.get", lambda: client.subscriptions.get(subscription))
    change = [PatchDocument(op="replace", path="/asset_properties/label_column", value="approved")]
    way.does("subscriptions.update", lambda: client.subscriptions.update(subscription, patch_document=change))
    data = [{"fields": FEATURES, "values": rows()[:2]}]
    way.does("subscriptions.schemas", lambda: client.subscriptions.schemas(subscription, input_data=data))
    way.does("subscriptions.create_feedback_table", lambda: client.subscriptions.create_feedback_table(subscription))
    way.does("subscriptions.poll_subscription_status", lambda: client.subscriptions.poll_subscription_status(subscription, "", [], 1))
    way.does("subscriptions.tables", lambda: client.subscriptions.tables(subscription, "feedback", {}))
    return subscription


def _data_sets(way: Walk, subscription: str) -> tuple[str, str]:
    client = way.client
    found = way.does(
        "data_sets.list",
        lambda: [
            client.data_sets.list(type=kind, target_target_id=subscription, target_target_type="subscription")
            .result.data_sets[0]
            .metadata.id
            for kind in ("payload_logging", "feedback")
        ],
    )
    way.does("data_sets.show", client.data_sets.show)
    way.does("data_sets.get", lambda: client.data_sets.get(found[0]))
    target = Target(target_type="subscription", target_id=subscription)
    change = [PatchDocument(op="replace", path="/description", value="changed")]
    way.does("data_sets.update", lambda: client.data_sets.update(found[0], patch_document=change))
    way.does(
        "data_sets.add",
        lambda: client.data_sets.add(target=target, name="payload", type="payload_logging", data_schema=schema(), data_mart_id=ZERO),
    )
    return found[0], found[1]


def _records(way: Walk, payload: str, feedback: str) -> None:
    client, table = way.client, rows()
    record = PayloadRecord(
        scoring_id=uuid.uuid4().hex,
        request={"fields": FEATURES, "values": table},
        response={"fields": ["prediction", "probability"], "values": answers(table)},
        response_time=460,
    )
    stored = way.does(
        "data_sets.store_records",
        lambda: client.data_sets.store_records(data_set_id=payload, request_body=[record], background_mode=True),
    )
    request = stored.headers["Location"].rsplit("/", 1)[1]
    way.does("data_sets.get_update_status", lambda: client.data_sets.get_update_status(payload, request))
    # Stamped with another time by the SDK.
    again = client.data_sets.store_records(data_set_id=payload, request_body=[record], background_mode=True)
    request = again.headers["Location"].rsplit("/", 1)[1]
    state = client.data_sets.get_update_status(payload, request).result.state
    if state != "active":
        way.found["data_sets.store_records"], way.said["data_sets.store_records"] = BROKEN, f"sent again: {state}"
    labelled = [dict(zip(FEATURES, row, strict=True), approved=1 if row[1] >= RICH else 0) for row in table]
    client.data_sets.store_records(data_set_id=feedback, request_body=labelled, background_mode=True)
    tables = [{"fields": [*FEATURES, "approved"], "values": [[*row, 1] for row in table[:3]]}]
    client.data_sets.store_records(data_set_id=feedback, request_body=tables, background_mode=True)
    text = "sex;income;age;approved\nmale;20000;31;1\nfemale;20000;32;0\n"
    reader = io.BufferedReader(io.BytesIO(text.encode()))
    way.does(
        "data_sets.store_records (CSV)",
        lambda: client.data_sets.store_records(
            data_set_id=feedback, request_body=reader, header=True, delimiter=";", csv_max_line_length=8196, background_mode=True
        ),
    )
    way.does("data_sets.get_list_of_records", lambda: client.data_sets.get_list_of_records(payload, limit=10, output_type="pandas"))
    client.data_sets.get_list_of_records(feedback, limit=10, format="list", output_type="pandas")
    narrowed = {"filter": "sex:eq:female,age:gte:40", "order": "age:desc", "includes": "sex,age"}
    # The older SDK knows fewer options.
    known = inspect.signature(client.data_sets.get_list_of_records).parameters
    options = {name: value for name, value in narrowed.items() if name in known}
    way.does("data_sets.get_list_of_records (filter)", lambda: client.data_sets.get_list_of_records(payload, limit=5, **options))
    window = {"start": "2026-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z"}
    way.does(
        "data_sets.distributions.add",
        lambda: Distributions(client).add(payload, dataset="payload_logging", group=["sex", "prediction"], agg=["count"], **window),
    )
    way.does("data_sets.get_records_count", lambda: client.data_sets.get_records_count(payload))
    way.does("data_sets.show_records", lambda: client.data_sets.show_records(payload))
    way.does("data_sets.print_records_schema", lambda: client.data_sets.print_records_schema(payload))


def _definitions(way: Walk) -> None:
    client = way.client
    way.does("monitor_definitions.list", client.monitor_definitions.list)
    way.does("monitor_definitions.show", client.monitor_definitions.show)
    way.does("monitor_definitions.get", lambda: client.monitor_definitions.get("fairness"))


def _instances(way: Walk, mart: str, subscription: str) -> str:
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
        lambda: client.monitor_instances.create(
            data_mart_id=mart,
            monitor_definition_id=monitors.FAIRNESS.ID,
            target=target,
            parameters=parameters,
            thresholds=limit,
            schedule=hourly,
            background_mode=True,
        ),
    )
    fairness: str = added.result.metadata.id
    way.does(
        "monitor_instances.create (quality)",
        lambda: client.monitor_instances.create(
            data_mart_id=mart,
            monitor_definition_id=monitors.QUALITY.ID,
            target=target,
            parameters={"min_feedback_data_size": 10},
            thresholds=[MetricThresholdOverride(metric_id="accuracy", type="lower_limit", value=0.8)],
        ),
    )
    way.does("monitor_instances.list", lambda: client.monitor_instances.list(target_target_id=subscription))
    way.does("monitor_instances.show", client.monitor_instances.show)
    way.does("monitor_instances.get", lambda: client.monitor_instances.get(fairness))
    change = [PatchDocument(op="replace", path="/parameters/min_records", value=20)]
    way.does("monitor_instances.update", lambda: client.monitor_instances.update(fairness, patch_document=change))
    way.does("monitor_instances.modify_schedule", lambda: client.monitor_instances.modify_schedule(fairness, 1, "hour"))
    return fairness


def _runs(way: Walk, fairness: str) -> str:
    client = way.client
    added = way.does("monitor_instances.run", lambda: client.monitor_instances.run(fairness, background_mode=True))
    run: str = added.result.metadata.id
    while client.monitor_instances.get_run_details(fairness, run).result.entity.status.state == "running":
        time.sleep(0.2)
    details = way.does("monitor_instances.get_run_details", lambda: client.monitor_instances.get_run_details(fairness, run))
    state = details.result.entity.status.state
    if state != "finished":
        way.found["monitor_instances.run"] = BROKEN
        way.said["monitor_instances.run"] = str(details.result)
    way.does("monitor_instances.list_runs", lambda: client.monitor_instances.list_runs(fairness))
    return run


def _measurements(way: Walk, fairness: str, run: str) -> None:
    client = way.client
    now = datetime.now(timezone.utc)  # noqa: UP017 - the older SDK runs on older Pythons
    # Far ahead, so that the recorded calls find measurements whenever they are replayed.
    window = {"start": now - timedelta(days=1), "end": datetime(2100, 1, 1, tzinfo=timezone.utc)}  # noqa: UP017 - as above
    way.does("monitor_instances.show_metrics", lambda: client.monitor_instances.show_metrics(fairness))
    quality = fairness.replace("fairness.", "quality.")
    way.does("monitor_instances.show_metrics (quality)", lambda: client.monitor_instances.show_metrics(quality))
    measured = client.monitor_instances.measurements
    way.does("monitor_instances.list_measurements", lambda: client.monitor_instances.list_measurements(fairness, run_id=run, **window))
    details = way.does("monitor_instances.get_measurement_details", lambda: client.monitor_instances.get_measurement_details(fairness, run))
    way.said["summary"] = json.dumps([source.to_dict() for source in details.result.entity.sources], default=str)
    subscription = fairness.partition(".")[2]
    way.does(
        "monitor_instances.measurements.query",
        lambda: measured.query(target_id=subscription, target_type="subscription", monitor_definition_id="fairness", recent_count=1),
    )
    way.does("monitor_instances.get_metrics", lambda: client.monitor_instances.get_metrics(fairness, interval="month", **window))
    of_sex = {"filter": "feature:eq:sex", **window}
    way.does("monitor_instances.list_measurements (filter)", lambda: client.monitor_instances.list_measurements(fairness, **of_sex))
    # The older SDK knows no other function than the last value.
    has_functions = "agg" in inspect.signature(client.monitor_instances.get_metrics).parameters
    functions = {"agg": ":avg,:count"} if has_functions else {}
    way.does("monitor_instances.get_metrics (filter)", lambda: client.monitor_instances.get_metrics(fairness, **of_sex, **functions))
    way.does("monitor_instances.get_metrics_count", lambda: client.monitor_instances.get_metrics_count(fairness, interval="year", **window))
    past = {
        "timestamp": "2026-01-01T00:00:00Z",
        "run_id": "imported",
        "metrics": [{"fairness_value": 94.7, "feature": "sex", "feature_value": "female", "fairness_metric_type": "fairness"}],
        "sources": [],
    }
    way.does("monitor_instances.add_measurements", lambda: _import(client, fairness, past))


def _import(client: Any, fairness: str, past: dict[str, Any]) -> Any:  # noqa: ANN401 - the SDK's
    return client.monitor_instances.add_measurements(fairness, monitor_measurement_request=[MonitorMeasurementRequest.from_dict(past)])


def _refused(way: Walk, subscription: str, payload: str, fairness: str) -> None:
    client = way.client
    target = Target(target_type="subscription", target_id=subscription)
    way.refuses(
        "monitor_instances.create (explainability)",
        lambda: client.monitor_instances.create(data_mart_id=ZERO, monitor_definition_id="explainability", target=target, parameters={}),
    )
    way.refuses(
        "monitor_instances.create (drift)",
        lambda: client.monitor_instances.create(data_mart_id=ZERO, monitor_definition_id="drift", target=target, parameters={}),
    )
    way.refuses(
        "monitor_instances.explanation_tasks", lambda: client.monitor_instances.explanation_tasks(["one"], subscription_id=subscription)
    )
    way.refuses(
        "monitor_instances.get_explanation_tasks",
        lambda: client.monitor_instances.get_explanation_tasks("one", subscription_id=subscription),
    )
    # The older SDK never forces it.
    if "force" in inspect.signature(client.data_sets.delete).parameters:
        way.refuses("data_sets.delete (force)", lambda: client.data_sets.delete(payload, force=True))
    change = [PatchDocument(op="replace", path="/name", value="other")]
    way.refuses("data_sets.patch_records", lambda: client.data_sets.patch_records(payload, patch_document=change))
    patch = [JsonPatchOperation(op="replace", path="/name", value="other")]
    synchronise = client.subscriptions
    way.refuses("subscriptions.trigger_configuration_synchrozation", lambda: synchronise.trigger_configuration_synchrozation(subscription))
    way.refuses("subscriptions.configuration_synchrozation_get", lambda: synchronise.configuration_synchrozation_get(subscription))
    way.refuses(
        "monitor_instances.get_all_explaination_tasks",
        lambda: client.monitor_instances.get_all_explaination_tasks(subscription_id=subscription),
    )
    way.refuses("integrated_systems.show", lambda: client.integrated_systems.show())  # noqa: PLW0108 - the older SDK has none
    way.refuses("integrated_systems.get", lambda: client.integrated_systems.get("one"))
    way.refuses("integrated_systems.delete", lambda: client.integrated_systems.delete("one"))
    system = {"name": "one", "type": "spark", "description": "", "credentials": {}, "connection": {}}
    way.refuses("integrated_systems.add", lambda: client.integrated_systems.add(**system))
    way.refuses("integrated_systems.update", lambda: client.integrated_systems.update("one", patch))
    way.refuses("integrated_systems.list", lambda: client.integrated_systems.list())  # noqa: PLW0108 - the older SDK has none
    way.refuses("monitor_instances.download_drift_model", lambda: client.monitor_instances.download_drift_model(fairness))
    instances = client.monitor_instances
    way.refuses("monitor_instances.download_drift_model_metadata", lambda: instances.download_drift_model_metadata(fairness))
    way.refuses("monitor_instances.get_drift_v2_archive_metadata", lambda: instances.get_drift_v2_archive_metadata(subscription))
    way.refuses("monitor_instances.download_drift_v2_archive", lambda: instances.download_drift_v2_archive(subscription, "one"))
    archive = io.BytesIO(b"an archive")
    archive.name = "explainability.tar.gz"
    way.refuses(
        "monitor_instances.upload_explainability_archive",
        lambda: instances.upload_explainability_archive(subscription_id=subscription, archive=archive),
    )
    way.refuses(
        "monitor_instances.upload_drift_model",
        lambda: instances.upload_drift_model(model_path=__file__, data_mart_id=ZERO, subscription_id=subscription),
    )
    way.refuses("monitor_instances.upload_drift_v2_archive", lambda: instances.upload_drift_v2_archive(subscription, __file__))
    way.refuses("monitor_instances.get_explainability_archive", lambda: client.monitor_instances.get_explainability_archive(subscription))


def walk_discovery(way: Walk, plan: Plan, kind: str) -> None:
    """Asks a custom provider for its deployments, which the SDK does over TLS whatever the address says."""
    before, way.client = way.client, plan.client(kind, plan.tls_url)
    name = f"discovery {kind} {uuid.uuid4().hex[:8]}"
    added = way.client.service_providers.add(
        name=name, service_type="custom_machine_learning", credentials=CustomCredentials(url=plan.provider_url), background_mode=True
    )
    provider: str = added.result.metadata.id
    found = way.does(
        "service_providers.list_assets", lambda: way.client.service_providers.list_assets(ZERO, provider, deployment_id="credit")
    )
    if [one["metadata"]["guid"] for one in found.result["resources"]] != ["credit"]:
        way.found["service_providers.list_assets"], way.said["service_providers.list_assets"] = BROKEN, str(found.result)
    # Without a space the SDK lists them all here, too; with one it asks Watson Machine Learning.
    way.does("service_providers.get_deployment_asset", lambda: way.client.service_providers.get_deployment_asset(ZERO, provider, "credit"))
    way.refuses(
        "service_providers.list_assets (space)",
        lambda: way.client.service_providers.list_assets(ZERO, provider, deployment_space_id="space"),
    )
    way.client.service_providers.delete(provider)
    way.client = before


PARTS = ("data_marts", "service_providers", "subscriptions", "data_sets", "monitor_definitions", "monitor_instances", "integrated_systems")
"""Parts of the client whose public methods are listed."""


def list_methods(client: Any) -> list[str]:  # noqa: ANN401 - the SDK's client
    """Returns the names of all public methods, those that are hidden by the SDK itself left out."""
    found = []
    for part in PARTS:
        kind = type(getattr(client, part))
        found += [f"{part}.{name}" for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    return found


def main() -> int:
    """Walks with each authenticator and prints the results."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - this file runs alone
        plan = Plan(**json.load(file))
    recorder = Recorder(plan)
    recorder.start()
    results, failed, calls = {}, 0, recorder.calls
    for kind in KINDS:
        way = Walk(None)
        try:
            way.client = plan.client(kind)
            walk(way, plan, kind)
            calls = list(recorder.calls)
            walk_discovery(way, plan, kind)
        except Exception as error:  # noqa: BLE001 - the other authenticators are walked all the same
            print(f"{kind}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
        for name, what in way.found.items():
            if what == BROKEN:
                print(f"{kind}: {name}: {way.said[name]}", file=sys.stderr)
                failed += 1
        results[kind] = way.found
        if kind == KINDS[0] and len(sys.argv) > len(("program", "walk")):
            with open(sys.argv[2], "w", encoding="utf-8") as file:  # noqa: PTH123 - this file runs alone
                json.dump(
                    {"methods": {**dict.fromkeys(list_methods(way.client), "not there"), **way.found}, "calls": calls},
                    file,
                    indent=1,
                )
    if plan.speed:
        client = plan.client("bearer")
        provider = _providers(Walk(client), f"speed {uuid.uuid4().hex[:8]}")
        measure_speed(plan, _subscriptions(Walk(client), plan, "speed", ZERO, provider))
    print(json.dumps(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
