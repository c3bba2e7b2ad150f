"""Walks through the OpenScale SDK against a running Evenhand, method by method, and says what each one did.

It imports the SDK, the standard library and files next to it. WALK.json names the service, the model's address, an API key and a user with
a password; the last line printed is the result as JSON. CALLS.json gets the calls with their answers, which a test replays without the SDK.
"""

import io
import json
import sys
import uuid
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    Asset,
    AssetDeploymentRequest,
    AssetPropertiesRequest,
    CustomCredentials,
    Distributions,
    Records,
    ScoringEndpointRequest,
    SparkStruct,
    Target,
)
from ibm_watson_openscale.supporting_classes.payload_record import PayloadRecord
from monitors import walk_archive, walk_instances, walk_measurements, walk_recommendations, walk_runs
from recording import KINDS, WORKS, ZERO, Plan, Recorder, Walk, change
from refusals import walk_refusals
from shapes import write_calls

RICH = 50_000
FEATURES = ["sex", "income", "age"]
ROWS: list[list[Any]] = [["male" if n % 2 else "female", 60_000 if n % 4 in (0, 1) else 20_000, 20 + n] for n in range(40)]
"""20 men and 20 women, every other one rich."""


def walk(way: Walk, plan: Plan) -> None:
    name = f"walk {uuid.uuid4().hex[:8]}"
    way.does("data_marts.add", name="walk", internal_database=True, background_mode=True)
    mart: str = way.client.data_marts.list().result.data_marts[0].metadata.id
    provider = _provider(way, name, "http://127.0.0.1:9", username="model", password="model")  # noqa: S106 - of no one
    subscription = _subscribe(way, plan, name, mart, provider)
    data = [{"fields": FEATURES, "values": ROWS[:2]}]
    way.does("subscriptions.schemas", subscription, input_data=data)
    way.does("subscriptions.create_feedback_table", subscription)
    way.does("subscriptions.poll_subscription_status", subscription, "", [], 1)
    way.does("subscriptions.tables", subscription, "feedback", {})
    payload, feedback = (
        way.does("data_sets.list", type=kind, target_target_id=subscription, target_target_type="subscription")
        .result.data_sets[0]
        .metadata.id
        for kind in ("payload_logging", "feedback")
    )
    target = Target(target_type="subscription", target_id=subscription)
    way.does("data_sets.add", target=target, name="payload", type="payload_logging", data_schema=_schema(), data_mart_id=ZERO)
    _records(way, payload, feedback)
    fairness = walk_instances(way, mart, subscription)
    for part, identifier, path, value in (
        ("service_providers", provider, "/description", "changed"),
        ("subscriptions", subscription, "/asset_properties/label_column", "approved"),
        ("data_sets", payload, "/description", "changed"),
        ("monitor_instances", fairness, "/parameters/min_records", 20),
        ("monitor_definitions", "fairness", None, None),
        ("data_marts", mart, None, None),
    ):
        way.does(f"{part}.list")
        way.does(f"{part}.show")
        way.does(f"{part}.get", identifier)
        if path is not None:
            way.does(f"{part}.update", identifier, patch_document=change(path, value))
    walk_measurements(way, fairness, walk_runs(way, fairness))
    walk_recommendations(way, subscription)
    archived = _subscribe(way, plan, f"{name} archive", mart, provider)
    walk_archive(way, provider, archived)
    walk_refusals(way, provider, subscription, payload, fairness)
    way.does("subscriptions.score", subscription, fields=FEATURES, values=ROWS[:2])
    way.does("data_sets.delete", payload)
    way.does("monitor_instances.delete", fairness)
    for identifier in (archived, subscription):
        way.does("subscriptions.delete", identifier, force=True)
    way.does("service_providers.delete", provider)
    way.refuses("data_marts.patch", mart, change())
    way.refuses("data_marts.delete", mart, force=True)


def _provider(way: Walk, name: str, url: str, **log_in: str) -> str:
    added = way.does(
        "service_providers.add",
        name=name,
        service_type="custom_machine_learning",
        credentials=CustomCredentials(url=url, **log_in),
        operational_space_id="production",
        background_mode=True,
    )
    provider: str = added.result.metadata.id
    return provider


def _schema(*label: str) -> SparkStruct:
    columns = {"sex": ("string", "feature"), "income": ("double", "feature"), "age": ("integer", "feature")}
    columns |= dict.fromkeys(label, ("integer", "target"))
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {"modeling_role": role}} for name, (kind, role) in columns.items()]
    return SparkStruct(type="struct", fields=fields)


def _subscribe(way: Walk, plan: Plan, name: str, mart: str, provider: str) -> str:
    properties = AssetPropertiesRequest(
        label_column="approved",
        prediction_field="prediction",
        probability_fields=["probability"],
        feature_fields=FEATURES,
        categorical_fields=["sex"],
        input_data_schema=_schema(),
        training_data_schema=_schema("approved"),
    )
    endpoint = ScoringEndpointRequest(url=plan.model_url)
    added = way.does(
        "subscriptions.add",
        data_mart_id=mart,
        service_provider_id=provider,
        asset=Asset(asset_id=name, name=name, asset_type="model", problem_type="binary", input_data_type="structured"),
        deployment=AssetDeploymentRequest(deployment_id=name, name=name, deployment_type="online", scoring_endpoint=endpoint),
        asset_properties=properties,
        background_mode=True,
    )
    subscription: str = added.result.metadata.id
    return subscription


def _records(way: Walk, payload: str, feedback: str) -> None:
    call, distributions, records = uuid.uuid4().hex, Distributions(way.client), Records(way.client)
    # A model that approves men, and women only if rich.
    values = [[1, 0.9] if sex == "male" or income >= RICH else [0, 0.1] for sex, income, _ in ROWS]
    record = PayloadRecord(
        scoring_id=call,
        request={"fields": FEATURES, "values": ROWS},
        response={"fields": ["prediction", "probability"], "values": values},
        response_time=460,
    )
    for _ in ("once", "again"):
        stored = way.does("data_sets.store_records", data_set_id=payload, request_body=[record], background_mode=True)
        state = way.does("data_sets.get_update_status", payload, stored.headers["Location"].rpartition("/")[2]).result.state
        assert state == "active", state
    labelled = [dict(zip(FEATURES, row, strict=True), approved=int(row[1] >= RICH)) for row in ROWS]
    table = {"fields": [*FEATURES, "approved"], "values": [[*row, 1] for row in ROWS[:3]]}
    for body in (labelled, [table]):
        way.does("data_sets.store_records", data_set_id=feedback, request_body=body, background_mode=True)
    text = b"sex;income;age;approved\nmale;20000;31;1\nfemale;20000;32;0\n"
    way.does(
        "data_sets.store_records (CSV)",
        data_set_id=feedback,
        request_body=io.BufferedReader(io.BytesIO(text)),
        header=True,
        delimiter=";",
        csv_max_line_length=8196,
        background_mode=True,
    )
    for data_set, form in ((payload, "dict"), (feedback, "list")):
        way.does("data_sets.get_list_of_records", data_set, limit=10, format=form, output_type="pandas")
    way.refuses("data_sets.get_list_of_records (filter)", payload, filter="sex:eq:female")
    window = {"start": "2026-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z", "dataset": "payload_logging"}
    way.refuses("data_sets.distributions.add", payload, **window, group=["sex"], agg=["count"], call=distributions.add)
    way.refuses("data_sets.distributions.get", payload, "distribution", call=distributions.get)
    way.refuses("data_sets.distributions.delete", payload, call=distributions.delete)
    way.does("data_sets.records.get", payload, f"{call}-1", call=records.get)
    way.does("data_sets.records.field", payload, f"{call}-1", "sex", call=records.field)
    way.refuses("data_sets.records.update", payload, f"{call}-1", patch_document=change("/values/sex", "male"), call=records.update)
    way.refuses("data_sets.records.query", "payload_logging", record_id=[f"{call}-1"], call=records.query)
    for name in ("get_records_count", "show_records", "print_records_schema"):
        way.does(f"data_sets.{name}", payload)


def walk_discovery(way: Walk, plan: Plan) -> None:
    """Asks a custom provider for its deployments, which the SDK does over TLS whatever the address says."""
    way.client = plan.client("bearer", plan.tls_url)
    provider = _provider(way, "discovery", plan.provider_url)
    resources = way.does("service_providers.list_assets", ZERO, provider, deployment_id="credit").result["resources"]
    assert [deployment["metadata"]["guid"] for deployment in resources] == ["credit"], resources
    # Without a space the SDK lists them all here, too; with one it asks Watson Machine Learning.
    way.does("service_providers.get_deployment_asset", ZERO, provider, "credit")
    way.refuses("service_providers.list_assets (space)", ZERO, provider, deployment_space_id="space")


PARTS = ("data_marts", "service_providers", "subscriptions", "data_sets", "monitor_definitions", "monitor_instances", "integrated_systems")


def main() -> None:
    """Walks every method with one authenticator, logs in with each of them, and prints the results."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - this file runs alone
        plan = Plan(**json.load(file))
    recorder = Recorder(plan)
    recorder.start()
    way = Walk(plan.client("bearer"))
    # Public methods of the SDK that no step calls.
    for part in PARTS:
        kind = type(getattr(way.client, part, None))
        way.states |= {f"{part}.{name}": "not there" for name in dir(kind) if name[0] != "_" and callable(getattr(kind, name))}
    way.states["APIClient"] = WORKS
    walk(way, plan)
    calls = list(recorder.calls)
    walk_discovery(way, plan)
    for kind in KINDS:
        plan.client(kind).data_marts.show()
    for path in sys.argv[2:]:
        write_calls(path, calls, way.states)
    print(json.dumps(way.states))


if __name__ == "__main__":
    main()
