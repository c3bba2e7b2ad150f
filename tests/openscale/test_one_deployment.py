"""A subscription and a deployment are one: what either face stores is read by the other, with the same figures."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.access.principals import Role
from app.deployments.queries import Deployments
from tests.builders.openscale_bodies import BASE, ZERO, added, added_id, applicants, fairness, payload, read, subscription
from tests.builders.workers import ended
from tests.scenes import PlainSealer
from tests.service import RunningService


class Checked:
    """A subscription whose fairness was checked once."""

    def __init__(self, service: RunningService, url: str) -> None:
        self.service, self.client, self.url = service, service.client, url
        self.id = added_id(self.client, "subscriptions", subscription(url=url))
        self.address = f"/v1/deployments/{self.id}"
        self.instance = added_id(self.client, "monitor_instances", fairness(self.id))
        limit = [{"metric_id": "accuracy", "type": "lower_limit", "value": 0.8}]
        for kind in ("quality", "performance"):
            added(
                self.client,
                "monitor_instances",
                {**fairness(self.id), "monitor_definition_id": kind, "parameters": {}, "thresholds": limit},
            )
        rows = applicants()
        added(self.client, f"data_sets/payload_logging.{self.id}/records", payload(rows, "call"))
        labelled = [{"sex": sex, "income": income, "age": age, "approved": int(income > 30_000)} for sex, income, age in rows]
        added(self.client, f"data_sets/feedback.{self.id}/records", labelled)
        self.run = added_id(self.client, f"monitor_instances/{self.instance}/runs", {"triggered_by": "user"})
        self.runs = [self.run]
        self.check = ended(service, self.address, {"id": self.run})

    def figure(self, metric: str, data: str, scope: str, attribute: str | None = "sex") -> dict[str, Any]:
        """One figure of the check, as REST v1 answers it."""
        wanted = (metric, data, scope, attribute)
        found = [
            figure
            for figure in self.check["measurements"]
            if (figure["metric"], figure["data"], figure["scope"], figure["attribute"]) == wanted
        ]
        one: dict[str, Any] = found[0]
        return one

    def metrics(self, kind: str) -> dict[str, dict[str, Any]]:
        """The metrics of the run's measurement of an instance."""
        found = read(self.client, f"monitor_instances/{kind}.{self.id}/measurements", run_id=self.run)["measurements"]
        return {metric["id"]: metric for value in found[0]["entity"]["values"] for metric in value["metrics"]}


@pytest.fixture(scope="module")
def checked(service: RunningService, model_url: str) -> Checked:
    return Checked(service, model_url)


@pytest.fixture(scope="module")
def checked_twice(checked: Checked) -> Checked:
    """Another subscription, checked once more. Tests run in any order, and those of `checked` count its one check."""
    twice = Checked(checked.service, checked.url)
    twice.runs.insert(0, added_id(twice.client, f"monitor_instances/{twice.instance}/runs", {}))
    # The first run of the instance began by itself, and may be the one that was asked for then.
    for run in read(twice.client, f"monitor_instances/{twice.instance}/runs")["runs"]:
        ended(twice.service, twice.address, {"id": run["metadata"]["id"]})
    return twice


def test_a_subscription_is_a_deployment_of_rest_v1(checked: Checked) -> None:
    found = checked.client.get(checked.address).json()

    assert found["name"] == "Credit"
    assert [(feature["name"], feature["type"], feature["kind"]) for feature in found["features"]] == [
        ("sex", "string", "categorical"),
        ("income", "number", "numeric"),
        ("age", "integer", "numeric"),
    ]


def test_a_fairness_instance_is_the_monitor_of_rest_v1(checked: Checked) -> None:
    found = checked.client.get(f"{checked.address}/fairness-monitor").json()

    (attribute,) = found["attributes"]
    assert (attribute["monitored"], attribute["reference"], attribute["threshold"]) == (["female"], ["male"], 0.95)
    assert (found["min_records"], found["schedule"]) == (10, "hourly")


def test_a_fairness_value_is_the_checks_own_figure_in_percent(checked: Checked) -> None:
    value = checked.metrics("fairness")["fairness_value"]

    assert value["value"] == round(checked.figure("openscale_fairness", "openscale", "group")["value"], 3) * 100
    assert value["lower_limit"] == 95.0


@pytest.mark.parametrize("metric", ["statistical_parity_difference", "average_odds_difference", "true_positive_rate_difference"])
def test_other_metrics_of_fairness_are_the_checks_own_figures(checked: Checked, metric: str) -> None:
    data = "as_logged" if metric.startswith("statistical") else "labelled"

    assert checked.metrics("fairness")[metric]["value"] == checked.figure(metric, data, "group")["value"]


@pytest.mark.parametrize(
    ("identifier", "key"),
    [
        ("accuracy", "accuracy"),
        ("precision", "positive_predictive_value"),
        ("recall", "true_positive_rate"),
        ("f1_measure", "f1"),
        ("area_under_roc", "roc_auc"),
        ("log_loss", "log_loss"),
    ],
)
def test_quality_is_measured_by_the_same_check(checked: Checked, identifier: str, key: str) -> None:
    assert checked.metrics("quality")[identifier]["value"] == checked.figure(key, "labelled", "overall", None)["value"]


def test_a_quality_below_its_limit_is_an_issue(checked: Checked) -> None:
    (found,) = read(checked.client, f"monitor_instances/quality.{checked.id}/measurements", run_id=checked.run)["measurements"]

    assert checked.metrics("quality")["accuracy"] == {"id": "accuracy", "value": 0.75, "lower_limit": 0.8}
    assert found["entity"]["issue_count"] == 1


def test_the_summary_gives_shares_acceptable_share_and_verdict(checked: Checked) -> None:
    found = read(checked.client, f"monitor_instances/{checked.instance}/measurements/{checked.run}")
    sources = {source["id"]: source["data"] for source in reversed(found["entity"]["sources"])}

    (summary,) = sources["bias_detection_summary"]["summary"]
    (group,) = summary["minority"]["values"]
    assert (group["fav_class_percent"], group["perfect_equality"], group["acceptable_fav_class_percent"]) == (50.0, 100.0, 95.0)
    assert group["is_biased"]
    assert summary["is_biased"]
    assert sources["scoring_payload_data_distribution"]["values"] == [
        ["sex", "female", 1, 10, True, "monitored"],
        ["sex", "female", 0, 10, False, "monitored"],
        ["sex", "male", 1, 20, True, "reference"],
    ]


def test_figures_after_mitigation_are_a_summary_of_their_own(checked: Checked) -> None:
    found = read(checked.client, f"monitor_instances/{checked.instance}/measurements/{checked.run}")
    before, after = [source["data"] for source in found["entity"]["sources"] if source["id"] == "bias_detection_summary"]

    assert (before["metric_type"], after["metric_type"], after["debiased"]) == ("fairness", "debiased_fairness", True)
    (summary,) = after["summary"]
    expected = checked.figure("disparate_impact_after", "mitigated", "group")["value"]
    assert summary["fairness_value"] == round(expected, 3) * 100
    (group,) = summary["minority"]["values"]
    assert group["is_biased"] == (group["fav_class_percent"] < group["perfect_equality"] * 0.95)
    distribution = next(source["data"] for source in found["entity"]["sources"] if source["id"].startswith("debiased_"))
    women = sum(count for _, value, _, count, is_favourable, _ in distribution["values"] if value == "female" and is_favourable)
    assert 100 * women / 20 == group["fav_class_percent"]


def test_a_measurement_is_found_by_its_run_whatever_the_window(checked: Checked) -> None:
    window = {"start": "2001-01-01 00:00:00.5", "end": "2001-01-02 00:00:00"}

    assert read(checked.client, f"monitor_instances/{checked.instance}/measurements", **window)["measurements"] == []
    assert (
        len(read(checked.client, f"monitor_instances/{checked.instance}/measurements", run_id=checked.run, **window)["measurements"]) == 1
    )


def test_metrics_are_aggregated_by_interval_with_one_value_for_each(checked: Checked) -> None:
    window = {"start": "2001-03-01T00:00:00Z", "end": "2101-01-01T00:00:00Z", "agg": "fairness_value:avg,:count", "interval": "year"}
    answer = read(checked.client, f"monitor_instances/{checked.instance}/metrics", **window)

    (group,) = answer["groups"]
    metrics = {metric["id"]: metric for metric in group["metrics"]}
    here = datetime.now(UTC).year - 2001
    average, count = metrics["fairness_value"]["avg"]["value"], metrics["fairness_value"]["count"]["value"]
    assert (len(average), average[here], {*average[:here], *average[here + 1 :]}) == (100, 50.0, {None})
    assert (count[here], sum(count)) == (1, 1)
    # A function that names no metric is of each.
    assert metrics["statistical_parity_difference"].keys() == {"id", "count"}
    assert (answer["start"], answer["end"]) == ("2001-01-01T00:00:00.000000Z", "2101-01-01T00:00:00.000000Z")


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        (["feature:eq:sex"], 1),
        (["feature:in:[age,sex]", "fairness_metric_type:exists"], 1),
        (["feature:eq:age"], 0),
        (["region:null"], 1),
        (["feature:null"], 0),
        (["monitor_definition_id:eq:fairness"], 1),
    ],
)
def test_measurements_and_metrics_are_filtered_by_their_tags(checked: Checked, conditions: list[str], found: int) -> None:
    base, sent = f"monitor_instances/{checked.instance}", ",".join(conditions)
    window = {"start": "2001-03-01T00:00:00Z", "end": "2101-01-01T00:00:00Z"}
    of_definition = ",".join(f"fairness.{condition}" for condition in conditions)
    recent = read(checked.client, "measurements", target_id=checked.id, filter=of_definition)

    assert len(read(checked.client, f"{base}/measurements", filter=sent, **window)["measurements"]) == found
    assert len(read(checked.client, f"{base}/metrics", filter=sent, **window)["groups"]) == found
    assert [figure["entity"]["monitor_definition_id"] for figure in recent["measurements"]].count("fairness") == found


def test_the_newest_measurements_are_of_several_subscriptions_and_definitions_with_their_sources(checked: Checked) -> None:
    query = {"target_id": f"{checked.id},{checked.id}", "monitor_definition_id": "fairness,quality", "format": "full"}
    found = read(checked.client, "measurements", **query)["measurements"]

    sources = {resource["entity"]["monitor_definition_id"]: [each["id"] for each in resource["entity"]["sources"]] for resource in found}
    assert sources["quality"] == []
    assert "bias_detection_summary" in sources["fairness"]


def test_runs_come_in_pages_each_run_once(checked_twice: Checked) -> None:
    path = f"monitor_instances/{checked_twice.instance}/runs"
    pages = [read(checked_twice.client, path, limit=1)]
    while "next" in pages[-1]:
        pages.append(checked_twice.client.get(f"/openscale{pages[-1]['next']['url']}").json())
    found = [resource["metadata"]["id"] for page in pages for resource in page["runs"]]

    assert found[:2] == checked_twice.runs
    assert len(set(found)) == len(found) <= 3
    assert checked_twice.client.get(f"{BASE}/{path}", params={"start": "?"}).status_code == 422


def test_more_intervals_than_an_answer_holds_are_refused(checked: Checked) -> None:
    window = {"start": "2001-03-01T00:00:00Z", "end": "2101-01-01T00:00:00Z", "interval": "minute"}
    answer = checked.client.get(f"{BASE}/monitor_instances/{checked.instance}/metrics", params=window)

    assert (answer.status_code, "10,000 intervals" in answer.text) == (422, True)


def test_records_are_listed_in_both_forms_and_counted(checked: Checked) -> None:
    path = f"data_sets/payload_logging.{checked.id}/records"
    dicts = read(checked.client, path, limit=3, offset=2, include_total_count=True)
    lists = read(checked.client, path, limit=3, offset=2, format="list")

    values = [record["entity"]["values"] for record in dicts["records"]]
    assert (len(values), dicts["total_count"]) == (3, 40)
    assert [dict(zip(record["fields"], record["values"], strict=True)) for record in lists["records"]] == values
    assert {"sex", "income", "age", "prediction", "probability", "scoring_id", "scoring_timestamp"} <= values[0].keys()


@pytest.mark.thorough
def test_a_deployment_of_rest_v1_is_listed_run_and_read_as_a_subscription(checked: Checked) -> None:
    client = checked.client
    own = {"id": "own", "name": "Own", "problem_type": "binary", "features": [{"name": "sex", "type": "string"}]}
    assert client.post("/v1/deployments", json=own).status_code == 201
    monitor = {
        "favourable": [1],
        "unfavourable": [0],
        "attributes": [{"feature": "sex", "monitored": ["f"], "reference": ["m"]}],
        "min_records": 1,
    }
    assert client.put("/v1/deployments/own/fairness-monitor", json=monitor).status_code == 200
    records = [{"id": f"r{n}", "features": {"sex": "mf"[n % 2]}, "prediction": n // 2 % 2} for n in range(8)]
    assert client.post("/v1/deployments/own/payload-records", json={"records": records}).status_code == 200

    entity = read(client, "subscriptions/own")["entity"]
    assert (entity["data_mart_id"], entity["asset_properties"]["feature_fields"]) == (ZERO, ["sex"])
    assert "own" in [resource["metadata"]["id"] for resource in read(client, "subscriptions")["subscriptions"]]
    (instance,) = read(client, "monitor_instances", **{"target.target_id": "own"})["monitor_instances"]
    run = added_id(client, f"monitor_instances/{instance['metadata']['id']}/runs", {})
    ended(checked.service, "/v1/deployments/own", {"id": run})
    assert read(client, f"monitor_instances/fairness.own/runs/{run}")["entity"]["status"]["state"] == "finished"
    (found,) = read(client, "monitor_instances/fairness.own/measurements")["measurements"]
    # No model to ask: the fairness value is that of the logged records.
    assert found["entity"]["values"][0]["metrics"][0]["value"] == 100.0


def test_a_change_over_rest_v1_is_read_again_and_a_change_here_keeps_what_it_does_not_know(checked: Checked) -> None:
    client, address = checked.client, f"{checked.address}/fairness-monitor"
    monitor = client.get(address).json()
    names = {"favourable": "approved", "groups": {"sex": {"female": "women"}}}
    kept = {name: value for name, value in monitor.items() if name not in {"version", "warnings", "measured_metrics"}}
    assert client.put(address, json={**kept, "names": names, "schedule": "off", "min_records": 12}).status_code == 200

    entity = read(client, f"monitor_instances/{checked.instance}")["entity"]
    assert (entity["parameters"]["min_records"], "schedule" in entity) == (12, False)
    patch = [{"op": "replace", "path": "/parameters/min_records", "value": 13}]
    assert client.patch(f"{BASE}/monitor_instances/{checked.instance}", json=patch).status_code == 200
    after = client.get(address).json()
    assert (after["min_records"], after["names"], after["schedule"]) == (13, names, "off")


def test_a_key_of_another_deployment_sees_nothing_of_it(checked: Checked) -> None:
    other = added_id(checked.client, "subscriptions", subscription("Other"))
    with checked.service.database.transaction() as session:
        number = Deployments(session, PlainSealer()).get(other).no
    headers = checked.service.as_(Role.MANAGE, number)

    listed = checked.client.get(f"{BASE}/subscriptions", headers=headers).json()["subscriptions"]
    assert [resource["metadata"]["id"] for resource in listed] == [other]
    for path in (
        f"subscriptions/{checked.id}",
        f"data_sets/payload_logging.{checked.id}",
        f"data_sets/payload_logging.{checked.id}/records",
        f"monitor_instances/{checked.instance}",
        f"monitor_instances/{checked.instance}/runs/{checked.run}",
        f"monitor_instances/{checked.instance}/measurements/{checked.run}",
    ):
        answer = checked.client.get(f"{BASE}/{path}", headers=headers)
        assert answer.status_code == 404, path
        assert answer.json()["errors"][0]["message"].startswith("There is no "), path


def test_a_key_that_only_reads_may_not_change_and_one_that_only_logs_may_not_read(checked: Checked) -> None:
    reader, logger = checked.service.as_(Role.READ), checked.service.as_(Role.INGEST)

    assert checked.client.post(f"{BASE}/data_marts", json={"name": "x"}, headers=reader).status_code == 403
    assert checked.client.delete(f"{BASE}/subscriptions/{checked.id}", headers=reader).status_code == 403
    assert checked.client.get(f"{BASE}/subscriptions", headers=logger).status_code == 403
    path = f"{BASE}/data_sets/payload_logging.{checked.id}/records"
    assert checked.client.post(path, json=payload(applicants(2), "logged"), headers=logger).status_code == 202
