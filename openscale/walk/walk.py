"""Walks through the OpenScale SDK against a running Evenhand, method by method, and says what each one did.

It imports the SDK, the standard library and files next to it. WALK.json names the service, the model's address, an API key and a user with
a password; the last line printed is the result as JSON. CALLS.json gets the calls of the first authenticator with their answers, which a
test replays without the SDK.
"""

import inspect
import io
import json
import sys
import uuid
from typing import Any

from archive import walk_archive
from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    Asset,
    AssetDeploymentRequest,
    AssetPropertiesRequest,
    CustomCredentials,
    Distributions,
    JsonPatchOperation,
    PatchDocument,
    Records,
    ScoringEndpointRequest,
    Target,
)
from ibm_watson_openscale.supporting_classes.payload_record import PayloadRecord
from monitors import walk_definitions, walk_instances, walk_measurements, walk_recommendations, walk_runs
from recording import BROKEN, FEATURES, KINDS, RICH, WORKS, ZERO, Plan, Recorder, Walk, answers, rows, schema
from refusals import walk_custom_monitors, walk_refusals
from shapes import write_calls


def walk(way: Walk, plan: Plan, kind: str) -> None:
    """Walks every method of the map with one authenticator."""
    way.found["APIClient"] = WORKS
    client, name = way.client, f"walk {kind} {uuid.uuid4().hex[:8]}"
    mart = _marts(way)
    provider = _providers(way, name)
    subscription = _subscriptions(way, plan, name, mart, provider)
    payload, feedback = _data_sets(way, subscription)
    _records(way, payload, feedback)
    walk_definitions(way)
    fairness = walk_instances(way, mart, subscription)
    run = walk_runs(way, fairness)
    walk_measurements(way, fairness, run)
    walk_recommendations(way, subscription)
    walk_archive(way, provider, add_subscription(client, plan, f"{name} archive", mart, provider).result.metadata.id)
    walk_refusals(way, provider, subscription, payload, fairness)
    walk_custom_monitors(way, mart, subscription)
    way.does("subscriptions.score", subscription, fields=FEATURES, values=rows()[:2])
    way.does("data_sets.delete", payload)
    way.does("monitor_instances.delete", fairness)
    way.does("subscriptions.delete", subscription, force=True)
    way.does("service_providers.delete", provider)
    way.refuses("data_marts.delete", mart, force=True)


def _marts(way: Walk) -> str:
    client = way.client
    way.does("data_marts.list")
    way.does("data_marts.show")
    way.does("data_marts.add", name="walk", internal_database=True, background_mode=True)
    mart: str = client.data_marts.list().result.data_marts[0].metadata.id
    way.does("data_marts.get", mart)
    change = [JsonPatchOperation(op="replace", path="/description", value="changed")]
    way.refuses("data_marts.patch", mart, change)
    return mart


def _providers(way: Walk, name: str) -> str:
    own = CustomCredentials(url="http://127.0.0.1:9", username="model", password="model")  # noqa: S106 - of no one
    added = way.does(
        "service_providers.add",
        name=name,
        service_type="custom_machine_learning",
        credentials=own,
        operational_space_id="production",
        background_mode=True,
    )
    provider: str = added.result.metadata.id
    way.does("service_providers.list")
    way.does("service_providers.show")
    way.does("service_providers.get", provider)
    change = [PatchDocument(op="replace", path="/description", value="changed")]
    way.does("service_providers.update", provider, patch_document=change)
    return provider


def add_subscription(client: Any, plan: Plan, name: str, mart: str, provider: str) -> Any:  # noqa: ANN401 - the SDK's
    """Adds the subscription of the applicants' model."""
    properties = AssetPropertiesRequest(
        label_column="approved",
        prediction_field="prediction",
        probability_fields=["probability"],
        feature_fields=FEATURES,
        categorical_fields=["sex"],
        input_data_schema=schema(),
        training_data_schema=schema(with_label=True),
    )
    return client.subscriptions.add(
        data_mart_id=mart,
        service_provider_id=provider,
        asset=Asset(asset_id=name, name=name, asset_type="model", problem_type="binary", input_data_type="structured"),
        deployment=AssetDeploymentRequest(
            deployment_id=name, name=name, deployment_type="online", scoring_endpoint=ScoringEndpointRequest(url=plan.model_url)
        ),
        asset_properties=properties,
        background_mode=True,
    )


def _subscriptions(way: Walk, plan: Plan, name: str, mart: str, provider: str) -> str:
    client = way.client
    added = way.does("subscriptions.add", client, plan, name, mart, provider, call=add_subscription)
    subscription: str = added.result.metadata.id
    way.does("subscriptions.list")
    way.does("subscriptions.show")
    way.does("subscriptions.get", subscription)
    change = [PatchDocument(op="replace", path="/asset_properties/label_column", value="approved")]
    way.does("subscriptions.update", subscription, patch_document=change)
    data = [{"fields": FEATURES, "values": rows()[:2]}]
    way.does("subscriptions.schemas", subscription, input_data=data)
    way.does("subscriptions.create_feedback_table", subscription)
    way.does("subscriptions.poll_subscription_status", subscription, "", [], 1)
    way.does("subscriptions.tables", subscription, "feedback", {})
    return subscription


def _data_sets(way: Walk, subscription: str) -> tuple[str, str]:
    listed = [
        way.does("data_sets.list", type=kind, target_target_id=subscription, target_target_type="subscription")
        for kind in ("payload_logging", "feedback")
    ]
    payload, feedback = (found.result.data_sets[0].metadata.id for found in listed)
    way.does("data_sets.show")
    way.does("data_sets.get", payload)
    target = Target(target_type="subscription", target_id=subscription)
    change = [PatchDocument(op="replace", path="/description", value="changed")]
    way.does("data_sets.update", payload, patch_document=change)
    way.does("data_sets.add", target=target, name="payload", type="payload_logging", data_schema=schema(), data_mart_id=ZERO)
    return payload, feedback


def _records(way: Walk, payload: str, feedback: str) -> None:
    client, table = way.client, rows()
    call = uuid.uuid4().hex
    record = PayloadRecord(
        scoring_id=call,
        request={"fields": FEATURES, "values": table},
        response={"fields": ["prediction", "probability"], "values": answers(table)},
        response_time=460,
    )
    stored = way.does("data_sets.store_records", data_set_id=payload, request_body=[record], background_mode=True)
    request = stored.headers["Location"].rsplit("/", 1)[1]
    way.does("data_sets.get_update_status", payload, request)
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
        data_set_id=feedback,
        request_body=reader,
        header=True,
        delimiter=";",
        csv_max_line_length=8196,
        background_mode=True,
    )
    way.does("data_sets.get_list_of_records", payload, limit=10, output_type="pandas")
    client.data_sets.get_list_of_records(feedback, limit=10, format="list", output_type="pandas")
    if "filter" in inspect.signature(client.data_sets.get_list_of_records).parameters:
        way.refuses("data_sets.get_list_of_records (filter)", payload, filter="sex:eq:female")
    distributions, records = Distributions(client), Records(client)
    window = {
        "start": "2026-01-01T00:00:00Z",
        "end": "2100-01-01T00:00:00Z",
        "dataset": "payload_logging",
        "group": ["sex"],
        "agg": ["count"],
    }
    way.refuses("data_sets.distributions.add", payload, **window, call=distributions.add)
    way.refuses("data_sets.distributions.get", payload, "one", call=distributions.get)
    way.refuses("data_sets.distributions.delete", payload, call=distributions.delete)
    way.does("data_sets.records.get", payload, f"{call}-1", call=records.get)
    way.does("data_sets.records.field", payload, f"{call}-1", "sex", call=records.field)
    change = [PatchDocument(op="replace", path="/values/sex", value="male")]
    way.refuses("data_sets.records.update", payload, f"{call}-1", patch_document=change, call=records.update)
    way.refuses("data_sets.records.query", "payload_logging", record_id=[f"{call}-1"], call=records.query)
    way.does("data_sets.get_records_count", payload)
    way.does("data_sets.show_records", payload)
    way.does("data_sets.print_records_schema", payload)


def walk_discovery(way: Walk, plan: Plan, kind: str) -> None:
    """Asks a custom provider for its deployments, which the SDK does over TLS whatever the address says."""
    before, way.client = way.client, plan.client(kind, plan.tls_url)
    name = f"discovery {kind} {uuid.uuid4().hex[:8]}"
    added = way.client.service_providers.add(
        name=name, service_type="custom_machine_learning", credentials=CustomCredentials(url=plan.provider_url), background_mode=True
    )
    provider: str = added.result.metadata.id
    found = way.does("service_providers.list_assets", ZERO, provider, deployment_id="credit")
    if [one["metadata"]["guid"] for one in found.result["resources"]] != ["credit"]:
        way.found["service_providers.list_assets"], way.said["service_providers.list_assets"] = BROKEN, str(found.result)
    # Without a space the SDK lists them all here, too; with one it asks Watson Machine Learning.
    way.does("service_providers.get_deployment_asset", ZERO, provider, "credit")
    way.refuses("service_providers.list_assets (space)", ZERO, provider, deployment_space_id="space")
    way.client.service_providers.delete(provider)
    way.client = before


PARTS = ("data_marts", "service_providers", "subscriptions", "data_sets", "monitor_definitions", "monitor_instances", "integrated_systems")


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
            write_calls(sys.argv[2], calls, methods={**dict.fromkeys(list_methods(way.client), "not there"), **way.found})
    print(json.dumps(results))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
