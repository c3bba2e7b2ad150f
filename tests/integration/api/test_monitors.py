from typing import Any

from sqlalchemy import text
from syrupy.assertion import SnapshotAssertion

from tests.builders.bodies import deployment, monitor
from tests.builders.page_words import says
from tests.service import RunningService

PATH = "/v1/deployments/credit-risk/fairness-monitor"


def test_a_monitor_is_read_back_with_its_defaults(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    put = service.client.put(PATH, json=monitor())

    assert put.status_code == 200
    assert service.client.get(PATH).json() == put.json()
    names = ("version", "min_records", "max_records", "schedule", "draws", "seed", "evidence", "attribution")
    assert {key: put.json()[key] for key in names} == {
        "version": 1,
        "min_records": 100,
        "max_records": 10_000,
        "schedule": "hourly",
        "draws": 2,
        "seed": 0,
        "evidence": {
            "person": None,
            "each_record_another_person": False,
            "declared_by": None,
            "declared_on": None,
            "label_horizon_hours": 720,
            "false_alarm_hours": 8760,
        },
        "attribution": {"nightly": False, "max_rows": 50_000},
    }
    assert put.json()["attributes"][1]["monitored"] == [[18, 25]]
    assert put.json()["attributes"][1]["threshold"] == 0.8


def test_the_version_grows_only_when_the_content_changes(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    versions = [
        service.client.put(PATH, json=body).json()["version"]
        for body in (monitor(), monitor(), monitor(seed=1), monitor(seed=1, schedule="off"), monitor(seed=1, schedule="off"), monitor())
    ]

    assert versions == [1, 1, 2, 3, 3, 4]


def test_a_monitor_made_anew_never_takes_a_version_that_a_check_has_recorded(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    service.client.put(PATH, json=monitor())
    with service.database.transaction() as session:
        session.execute(
            text(
                "INSERT INTO checks (id, deployment_no, trigger, state, span_start, span_end, attempts, cancel_requested, created_by,"
                " monitor_version) SELECT 'c', no, 'request', 'succeeded', now(), now(), 1, false, 'test', 7 FROM deployments"
            )
        )

    assert service.client.delete(PATH).status_code == 204
    assert service.client.delete(PATH).status_code == 404
    assert service.client.get(PATH).status_code == 404
    assert service.client.put(PATH, json=monitor()).json()["version"] == 8


def test_limits_of_single_metrics_come_back_as_they_were_sent(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    attribute: dict[str, Any] = {
        "feature": "Sex",
        "monitored": ["female"],
        "metric_limits": {"statistical_parity_difference": {"lower": -0.1, "upper": 0.1}, "flip_rate": {"upper": 0.05}},
    }

    stored = service.client.put(PATH, json=monitor(attributes=[attribute], intersections=[])).json()["attributes"][0]

    assert stored["reference"] is None
    assert stored["metric_limits"] == {
        "flip_rate": {"lower": None, "upper": 0.05},
        "statistical_parity_difference": {"lower": -0.1, "upper": 0.1},
    }


def test_refusals_name_each_field_of_the_body(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    spoiled = monitor(
        attributes=[{"feature": "Sex", "monitored": ["female", None], "reference": [{}], "threshold": "high"}],
        draws=2.5,
        unheard_of=1,
    )
    types = service.client.put(PATH, json=spoiled)
    rules = service.client.put(
        PATH, json=monitor(attributes=[{"feature": "Sex", "monitored": ["female", " "], "threshold": 0}], intersections=[["Sex"]])
    )

    assert {problem["field"] for problem in types.json()["errors"]} == {
        "attributes[0].monitored[1]",
        "attributes[0].reference[0]",
        "attributes[0].threshold",
        "draws",
        "unheard_of",
    }
    assert {problem["field"] for problem in rules.json()["errors"]} == {
        "attributes[0].monitored[1]",
        "attributes[0].threshold",
        "intersections[0]",
    }


def test_numbers_that_no_column_can_hold_are_refused(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    for listed in ("[[1, 1e999]]", f"[[1, {10**400}]]", f"[{10**400}]", "[NaN]", "[1e999]"):
        attributes = '[{"feature": "Age", "monitored": ' + listed + ', "reference": [[30, 40]]}]'
        body = '{"favourable": ["a"], "unfavourable": ["b"], "attributes": ' + attributes + "}"
        answer = service.client.put(PATH, content=body.encode(), headers={"content-type": "application/json"})
        assert answer.status_code == 422, listed
        assert answer.json()["errors"][0]["field"].startswith("attributes[0].monitored[0]")


def test_picked_metrics_and_strata_come_back_and_make_another_version(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    keys = ["roc_auc", "conditional_demographic_disparity_in_labels"]

    bodies = (monitor(), monitor(metrics=None, strata=None), monitor(metrics=keys, strata="Postcode"), monitor(strata="Postcode"))
    answers = [service.client.put(PATH, json=body).json() for body in bodies]

    assert [(answer["metrics"], answer["strata"], answer["version"]) for answer in answers] == [
        (None, None, 1),
        (None, None, 1),
        (keys, "Postcode", 2),
        (None, "Postcode", 3),
    ]
    assert service.client.get(PATH).json() == answers[-1]


def test_a_column_that_holds_the_strata_cannot_be_taken_out_of_the_deployment(service: RunningService, snapshot: SnapshotAssertion) -> None:
    service.client.post("/v1/deployments", json=deployment())
    service.client.put(PATH, json=monitor(strata="Postcode"))

    answer = service.client.patch("/v1/deployments/credit-risk", json={"meta": []})

    assert answer.status_code == 409
    assert says(said := answer.json()["detail"], "'Postcode'")
    assert said == snapshot


def test_an_upper_threshold_that_is_left_out_mirrors_the_lower_and_null_watches_one_side(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    sex: dict[str, Any] = {"feature": "Sex", "monitored": ["female"], "reference": ["male"]}

    def upper(**threshold: float | None) -> float | None:
        stored = service.client.put(PATH, json=monitor(attributes=[{**sex, **threshold}], intersections=[])).raise_for_status().json()
        found: float | None = stored["attributes"][0]["upper_threshold"]
        return found

    assert upper() == 1.25
    assert upper(threshold=0.5) == 2.0
    assert upper(threshold=1) == 1.0
    assert upper(upper_threshold=None) is None
    assert upper(threshold=0.9, upper_threshold=1.25) == 1.25


def test_one_request_adds_the_sides_that_are_missing_to_the_version_that_was_looked_at(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())
    limits = {"statistical_parity_difference": {"lower": -0.2}, "equalized_odds_ratio": {"lower": 0.7}}
    sex = {"feature": "Sex", "monitored": ["female"], "threshold": 0.8, "upper_threshold": None, "metric_limits": limits}
    before = service.client.put(PATH, json=monitor(attributes=[sex], intersections=[])).raise_for_status().json()

    added = service.client.post(f"{PATH}/both-sides", json={"version": before["version"]})
    late = service.client.post(f"{PATH}/both-sides", json={"version": before["version"]})
    again = service.client.post(f"{PATH}/both-sides", json={"version": added.json()["version"]})

    assert added.json()["version"] == before["version"] + 1
    (attribute,) = added.json()["attributes"]
    assert attribute["upper_threshold"] == 1.25
    assert attribute["metric_limits"]["statistical_parity_difference"] == {"lower": -0.2, "upper": 0.2}
    assert attribute["metric_limits"]["equalized_odds_ratio"] == {"lower": 0.7, "upper": None}
    assert (late.status_code, "was changed meanwhile" in late.json()["detail"]) == (409, True)
    assert again.json() == added.json()
    activities = service.client.get("/v1/deployments/credit-risk/activities").json()["activities"]
    assert [activity["action"] for activity in activities].count("monitor.changed") == 2


def test_without_a_monitor_there_are_no_sides_to_add(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    assert service.client.post(f"{PATH}/both-sides", json={"version": 1}).status_code == 404


def test_the_monitors_of_all_deployments_come_in_one_list(service: RunningService) -> None:
    for identifier in ("first", "unwatched", "second"):
        service.client.post("/v1/deployments", json=deployment(id=identifier)).raise_for_status()
    for identifier in ("first", "second"):
        service.client.put(f"/v1/deployments/{identifier}/fairness-monitor", json=monitor()).raise_for_status()

    page = service.client.get("/v1/fairness-monitors", params={"limit": 1}).json()
    rest = service.client.get("/v1/fairness-monitors", params={"cursor": page["next_cursor"]}).json()
    own = service.client.get("/v1/deployments/second/fairness-monitor").json()

    assert [one["deployment_id"] for one in page["fairness_monitors"] + rest["fairness_monitors"]] == ["first", "second"]
    assert rest["fairness_monitors"][0]["monitor"] == own | {"warnings": []}
    assert rest["next_cursor"] is None


def test_a_monitor_says_which_metrics_null_means(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    path = "/v1/deployments/credit-risk/fairness-monitor"

    usual = service.client.put(path, json=monitor()).json()
    chosen = service.client.put(path, json=monitor(metrics=["disparate_impact"])).json()

    assert (usual["metrics"], "statistical_parity_difference" in usual["measured_metrics"]) == (None, True)
    assert chosen["measured_metrics"] == ["disparate_impact"]
