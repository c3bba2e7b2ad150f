"""Scripts in the style of OpenScale's tutorials, run through the SDK against a running Evenhand.

It imports the SDK, the standard library and files next to it, as openscale_walk.py does:

    python scripts/openscale_tutorials.py WALK.json [CALLS.json]

The last line printed is, by tutorial, the subscription, the run and its measurements as the SDK read them.
"""

import json
import sys
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

from ibm_watson_openscale.base_classes.watson_open_scale_v2 import (
    AnalyticsEngine,
    Asset,
    AssetDeploymentRequest,
    AssetPropertiesRequest,
    DataSource,
    DataSourceConnection,
    MetricThresholdOverride,
    ScoringEndpointRequest,
    SparkStruct,
    Target,
)
from ibm_watson_openscale.supporting_classes.payload_record import PayloadRecord
from recording import ZERO, Plan, Recorder
from shapes import write_calls

RICH = 60_000.0
"""Income of the records that the model of meta fields favours."""


@dataclass
class Tutorial:
    """A model, its records and its monitor. `rows` are of `fields`, `meta` of a column that the model does not see."""

    name: str
    problem_type: str
    fields: dict[str, str]
    rows: list[list[Any]]
    answers: list[list[Any]]
    feature: dict[str, Any]
    favourable: list[Any]
    unfavourable: list[Any]
    outputs: list[str] = field(default_factory=lambda: ["prediction", "probability"])
    meta: dict[str, list[Any]] = field(default_factory=dict)
    labels: list[Any] | None = None
    has_endpoint: bool = True
    is_inline: bool = False
    is_batch: bool = False


def tutorials(plan: Plan) -> list[Tutorial]:
    """Returns the scripts: binary, several classes, regression, meta fields, headless, inline predictions, and a table that is there."""
    return [_binary(), _several_classes(), _regression(), _meta_fields(), _headless(), _inline(), *([_batch()] if plan.table else [])]


def _risks(favourable: int, n: int) -> list[str]:
    return ["No Risk"] * favourable + ["Risk"] * (n - favourable)


def _probabilities(answers: list[str]) -> list[list[Any]]:
    return [[answer, 0.9 if answer == "No Risk" else 0.2] for answer in answers]


def _binary() -> Tutorial:
    """The first hour that OpenScale published of its credit risk model: 59 men and 41 women, each asked about as the other sex, too."""
    men = zip(["male"] * 59, _risks(48, 59), _risks(43, 59))  # noqa: B905 - the older SDK runs on older Pythons
    women = zip(["female"] * 41, _risks(28, 41), _risks(29, 41))  # noqa: B905 - as above
    rows = [list(row) for row in (*men, *women)]
    answers = [row[1] if row[0] == "male" else row[2] for row in rows]
    return Tutorial(
        name="binary",
        problem_type="binary",
        fields={"Sex": "string", "as male": "string", "as female": "string"},
        rows=rows,
        answers=_probabilities(answers),
        feature={"feature": "Sex", "majority": ["male"], "minority": ["female"], "threshold": 0.98},
        favourable=["No Risk"],
        unfavourable=["Risk"],
        labels=["Risk" if place % 5 == 0 else answer for place, answer in enumerate(answers)],
    )


def _several_classes() -> Tutorial:
    classes = ["Excellent", "Good", "Fair", "Poor"]
    answers = [classes[(place * place + place // 7) % 4] for place in range(60)]
    rows: list[list[Any]] = [["M" if place % 2 else "F", answer, place] for place, answer in enumerate(answers)]
    return Tutorial(
        name="several classes",
        problem_type="multiclass",
        fields={"GENDER": "string", "answer": "string", "months": "integer"},
        rows=rows,
        answers=[[answer, [0.7 if answer == one else 0.1 for one in classes]] for answer in answers],
        feature={"feature": "GENDER", "majority": ["M"], "minority": ["F"], "threshold": 0.8},
        favourable=["Excellent", "Good"],
        unfavourable=["Fair", "Poor"],
        labels=[classes[(classes.index(answer) + (place % 3 == 0)) % 4] for place, answer in enumerate(answers)],
    )


def _regression() -> Tutorial:
    # Some houses are between the groups and some prices between the outcomes: these records are left out.
    rows = [[40 + place % 65, 30_000.0 + place * 8_000] for place in range(60)]
    return Tutorial(
        name="regression",
        problem_type="regression",
        fields={"MSSubClass": "integer", "answer": "double"},
        rows=rows,
        answers=[[price] for _, price in rows],
        outputs=["prediction"],
        feature={"feature": "MSSubClass", "majority": [[50, 70]], "minority": [[80, 100]], "threshold": 0.8},
        favourable=[[200_000, 500_000]],
        unfavourable=[[35_000, 100_000]],
        labels=[price + 1_000.0 * (place % 9 - 3) for place, (_, price) in enumerate(rows)],
    )


def _meta_fields() -> Tutorial:
    rows = [[RICH if place % 3 else 20_000.0, place % 9] for place in range(60)]
    return Tutorial(
        name="meta fields",
        problem_type="binary",
        fields={"income": "double", "years": "integer"},
        rows=rows,
        answers=_probabilities(["No Risk" if income == RICH else "Risk" for income, _ in rows]),
        meta={"sex": ["Male" if place % 4 else "Female" for place in range(60)]},
        feature={"feature": "sex", "majority": ["Male"], "minority": ["Female"], "threshold": 0.8},
        favourable=["No Risk"],
        unfavourable=["Risk"],
        has_endpoint=False,
    )


def _headless() -> Tutorial:
    rows = [["male" if place % 2 else "female", place] for place in range(30)]
    answers = ["No Risk" if place % 5 and (sex == "male" or place % 3) else "Risk" for sex, place in rows]
    return Tutorial(
        name="headless",
        problem_type="binary",
        fields={"Sex": "string", "months": "integer"},
        rows=rows,
        answers=_probabilities(answers),
        feature={"feature": "Sex", "majority": ["male"], "minority": ["female"], "threshold": 0.95},
        favourable=["No Risk"],
        unfavourable=["Risk"],
        has_endpoint=False,
    )


def _inline() -> Tutorial:
    found = _headless()
    found.name, found.is_inline = "inline predictions", True
    return found


def _batch() -> Tutorial:
    found = _headless()
    found.name, found.is_batch = "batch subscription", True
    return found


def run_tutorial(client: Any, plan: Plan, tutorial: Tutorial) -> dict[str, Any]:  # noqa: ANN401 - the SDK's client
    """Subscribes, logs, monitors and checks as a notebook does, and returns what the SDK read."""
    name = f"{tutorial.name} {uuid.uuid4().hex[:8]}"
    subscription = _subscribe(client, plan, tutorial, name)
    if not tutorial.is_batch:
        _log(client, tutorial, subscription)
    target = Target(target_type="subscription", target_id=subscription)
    parameters = {
        "features": [tutorial.feature],
        "favourable_class": tutorial.favourable,
        "unfavourable_class": tutorial.unfavourable,
        "min_records": 10,
    }
    limit = [MetricThresholdOverride(metric_id="fairness_value", type="lower_limit", value=80)]
    added = client.monitor_instances.create(
        data_mart_id=ZERO, monitor_definition_id="fairness", target=target, parameters=parameters, thresholds=limit, background_mode=True
    )
    fairness = added.result.metadata.id
    instances = {"fairness": fairness}
    if tutorial.labels is not None:
        quality = client.monitor_instances.create(
            data_mart_id=ZERO, monitor_definition_id="quality", target=target, parameters={"min_feedback_data_size": 10}
        )
        instances["quality"] = quality.result.metadata.id
    run = client.monitor_instances.run(fairness, background_mode=True).result.metadata.id
    while client.monitor_instances.get_run_details(fairness, run).result.entity.status.state == "running":
        time.sleep(0.2)
    found: dict[str, Any] = {"subscription": subscription, "run": run, "values": {}, "sources": []}
    for kind, instance in instances.items():
        client.monitor_instances.show_metrics(instance)
        details = client.monitor_instances.get_measurement_details(instance, run).result.to_dict()
        found["values"][kind] = details["entity"]["values"]
        found["sources"] += details["entity"].get("sources") or []
    return found


def _subscribe(client: Any, plan: Plan, tutorial: Tutorial, name: str) -> str:  # noqa: ANN401 - the SDK's client
    columns = [(column, kind, "feature") for column, kind in tutorial.fields.items()]
    columns += [(column, "string", "meta-field") for column in tutorial.meta]
    fields = [{"name": column, "type": kind, "nullable": True, "metadata": {"modeling_role": role}} for column, kind, role in columns]
    properties = AssetPropertiesRequest(
        label_column="label",
        prediction_field="prediction",
        probability_fields=["probability"] if "probability" in tutorial.outputs else None,
        feature_fields=list(tutorial.fields),
        categorical_fields=[column for column, kind in tutorial.fields.items() if kind == "string"],
        input_data_schema=SparkStruct(type="struct", fields=fields),
    )
    endpoint = ScoringEndpointRequest(url=plan.model_url) if tutorial.has_endpoint else None
    kind, more = "online", dict[str, Any]()
    if tutorial.is_batch:
        table = DataSource(type="payload", connection=DataSourceConnection(type="parquet"), parameters={"location": plan.table})
        kind, more = "batch", {"data_sources": [table], "analytics_engine": AnalyticsEngine(type="spark")}
    added = client.subscriptions.add(
        data_mart_id=ZERO,
        service_provider_id=ZERO,
        asset=Asset(asset_id=name, name=name, asset_type="model", problem_type=tutorial.problem_type, input_data_type="structured"),
        deployment=AssetDeploymentRequest(deployment_id=name, name=name, deployment_type=kind, scoring_endpoint=endpoint),
        asset_properties=properties,
        background_mode=True,
        **more,
    )
    subscription: str = added.result.metadata.id
    return subscription


def _log(client: Any, tutorial: Tutorial, subscription: str) -> None:  # noqa: ANN401 - the SDK's client
    request: dict[str, Any] = {"fields": list(tutorial.fields), "values": tutorial.rows}
    if tutorial.meta:
        columns = list(tutorial.meta.values())
        request["meta"] = {"fields": list(tutorial.meta), "values": [list(row) for row in zip(*columns)]}  # noqa: B905 - as above
    response: dict[str, Any] = {"fields": tutorial.outputs, "values": tutorial.answers}
    if tutorial.is_inline:
        request, response = {"input_data": [request]}, {"predictions": [response]}
    record = PayloadRecord(scoring_id=uuid.uuid4().hex, request=request, response=response, response_time=12)
    client.data_sets.store_records(data_set_id=f"payload_logging.{subscription}", request_body=[record], background_mode=True)
    if tutorial.labels is not None:
        labelled = [
            dict(zip([*tutorial.fields, "label"], [*row, label]))  # noqa: B905 - as above
            for row, label in zip(tutorial.rows, tutorial.labels)  # noqa: B905 - as above
        ]
        client.data_sets.store_records(data_set_id=f"feedback.{subscription}", request_body=labelled, background_mode=True)


def main() -> int:
    """Runs every tutorial with the token of a key and prints the results."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - this file runs alone
        plan = Plan(**json.load(file))
    recorder = Recorder(plan)
    recorder.start()
    client = plan.client("bearer")
    results = {tutorial.name: run_tutorial(client, plan, tutorial) for tutorial in tutorials(plan)}
    if len(sys.argv) > len(("program", "walk")):
        subscriptions = {name: one["subscription"] for name, one in results.items()}
        # What a tutorial reads, the test reads by itself.
        made = [{**call, "shape": {}} for call in recorder.calls if call["method"] != "GET" or "/runs" in call["path"]]
        write_calls(sys.argv[2], made, subscriptions=subscriptions)
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
