"""Alert rules over HTTP: the one every deployment starts with, what is refused, who may change them."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from app.access.principals import Role
from app.alerts.evaluate import evaluate_ended_checks
from app.database.engine import Database
from tests.builders.bodies import deployment, monitor
from tests.progress import wait_until
from tests.service import RunningService

RULES = "/v1/deployments/credit-risk/alert-rules"
STALE = {"name": "Silence", "condition": {"kind": "stale_data", "hours": 6}}
VERDICT: dict[str, Any] = {
    "kind": "verdict",
    "verdicts": ["unfair", "suspected"],
    "data": ["labelled"],
    "metrics": ["true_positive_rate_difference"],
    "attributes": ["Sex", "Sex × Age"],
    "scope": "worst",
    "checks_in_a_row": 3,
}


@pytest.fixture(autouse=True)
def registered(service: RunningService) -> None:
    assert service.client.post("/v1/deployments", json=deployment()).status_code == 201


def put(service: RunningService, rule: object, rule_id: str = "mine", **request: Any) -> Any:  # noqa: ANN401 - httpx' own
    # Written here, because httpx cannot write half a character.
    headers = {"Content-Type": "application/json", **request.pop("headers", {})}
    return service.client.put(f"{RULES}/{rule_id}", content=json.dumps(rule), headers=headers, **request)


def test_a_deployment_starts_with_rules_about_evidence_failed_checks_missing_records_and_late_labels(service: RunningService) -> None:
    answer = service.client.get(RULES)

    rule, failed, missing, late = answer.json()["alert_rules"]
    assert (failed["id"], failed["condition"]) == ("failed-checks", {"kind": "failed_checks", "checks_in_a_row": 2})
    assert (missing["id"], missing["condition"]) == ("no-records", {"kind": "stale_data", "hours": None})
    assert (late["id"], late["condition"]) == ("late-labels", {"kind": "late_labels"})
    assert (rule["id"], rule["version"], rule["enabled"], rule["channels"], rule["remind_after_hours"]) == ("unfair", 1, True, [], 24)
    assert rule["condition"] == {
        "kind": "evidence",
        "data": ["as_logged", "counterfactual", "labelled"],
        "metrics": None,
        "attributes": None,
    }


def test_the_default_rule_can_be_deleted_and_stays_away(service: RunningService, database: Database) -> None:
    gone = service.client.delete(f"{RULES}/unfair")
    evaluate_ended_checks(database)
    again = service.client.delete(f"{RULES}/unfair")

    assert (gone.status_code, again.status_code) == (204, 404)
    assert [rule["id"] for rule in service.client.get(RULES).json()["alert_rules"]] == ["failed-checks", "no-records", "late-labels"]


def test_putting_the_same_rule_again_changes_nothing_and_other_content_makes_the_next_version(service: RunningService) -> None:
    first = put(service, {"name": "Mine", "condition": VERDICT})
    same = put(service, {"name": "Mine", "condition": VERDICT, "enabled": True, "remind_after_hours": 24, "channels": []})
    other = put(service, STALE)

    assert (first.status_code, first.json()["version"]) == (200, 1)
    assert first.json()["condition"] == VERDICT
    assert same.json() == first.json()
    assert (other.json()["version"], other.json()["condition"]) == (2, STALE["condition"])
    assert service.client.get(f"{RULES}/mine").json() == other.json()


def test_rules_come_in_pages(service: RunningService) -> None:
    put(service, STALE)
    first = service.client.get(RULES, params={"limit": 3}).json()
    second = service.client.get(RULES, params={"limit": 3, "cursor": first["next_cursor"]}).json()

    assert [rule["id"] for page in (first, second) for rule in page["alert_rules"]] == [
        "unfair",
        "failed-checks",
        "no-records",
        "late-labels",
        "mine",
    ]
    assert second["next_cursor"] is None


def verdict(**changes: object) -> dict[str, Any]:
    return {"name": "Mine", "condition": {"kind": "verdict", **changes}}


REFUSED: list[tuple[object, str, str]] = [
    ({**STALE, "name": " "}, "name", "must not be blank"),
    ({**STALE, "name": "a\u0000b"}, "name", "must not hold control characters"),
    ({**STALE, "remind_after_hours": 0}, "remind_after_hours", "must be between 1 and 8,760, found 0"),
    ({**STALE, "channels": ["nobody"]}, "channels[0]", "there is no channel nobody"),
    ({**STALE, "channels": ["a", "a"]}, "channels[1]", "'a' is listed twice"),
    ({**STALE, "chanels": []}, "chanels", "is not a member that is known here"),
    ({"name": "x", "condition": {"kind": "stale_data", "hours": 0}}, "condition.hours", "must be between 1 and 8,760, found 0"),
    (
        {"name": "x", "condition": {"kind": "failed_checks", "checks_in_a_row": 10**30}},
        "condition.checks_in_a_row",
        f"must be between 1 and 100, found {10**30}",
    ),
    (verdict(verdicts=[]), "condition.verdicts", "must list at least one"),
    (verdict(verdicts=["unfair", "unfair"]), "condition.verdicts[1]", "'unfair' is listed twice"),
    (verdict(data=["training"]), "condition.data[0]", "is not measured by checks, so no alert can be about it"),
    (verdict(metrics=[]), "condition.metrics", "must list at least one"),
    (
        verdict(metrics=["flip"]),
        "condition.metrics[0]",
        "'flip' is not a metric; did you mean flip_rate? GET /v1/metrics lists them",
    ),
    (
        verdict(metrics=["flip_rate"], scope="worst"),
        "condition.metrics[0]",
        "'flip_rate' has no figure of the scope worst on as_logged, counterfactual; choose another scope or data set",
    ),
    (
        verdict(metrics=["true_positive_rate_difference"]),
        "condition.metrics[0]",
        "'true_positive_rate_difference' has no figure of the scope group on as_logged, counterfactual; choose another scope or data set",
    ),
    (verdict(attributes=[]), "condition.attributes", "must list at least one"),
    (verdict(attributes=["Sexx"]), "condition.attributes[0]", "'Sexx' is neither a feature nor a meta field of the deployment"),
    (verdict(attributes=["Sex × Agee"]), "condition.attributes[0]", "'Agee' is neither a feature nor a meta field of the deployment"),
    (verdict(scope="pooled"), "condition.scope", "must be group or worst"),
]


def test_a_rule_with_a_fault_is_refused_with_its_place(service: RunningService, subtests: pytest.Subtests) -> None:
    for rule, field, message in REFUSED:
        with subtests.test(rule=rule, field=field, message=message):
            answer = put(service, rule)

            assert answer.status_code == 422
            assert {"field": field, "message": message} in [
                {**error, "field": error["field"].replace(".verdict.", ".").replace(".stale_data.", ".").replace(".failed_checks.", ".")}
                for error in answer.json()["errors"]
            ]


def test_nonsense_is_refused(service: RunningService, subtests: pytest.Subtests) -> None:
    for rule in (
        None,
        [],
        {},
        {"name": "x"},
        {"name": "x", "condition": None},
        {"name": "x", "condition": {"kind": "weather"}},
        {"name": "x", "condition": {"kind": "late_labels", "hours": 6}},
        {"name": "x", "condition": {"kind": "stale_data", "hours": "6"}},
        {"name": "x", "condition": {"kind": "stale_data", "hours": 6.5}},
        {"name": "x", "condition": {"kind": "stale_data", "hours": 6, "metrics": []}},
        {"name": "x", "condition": {"kind": "failed_checks", "checks_in_a_row": True}},
        verdict(metrics=["x" * 100_000]),
        verdict(attributes=["\ud800"]),
        {**STALE, "channels": ["x" * 65]},
        {**STALE, "channels": ["../etc"]},
        {**STALE, "channels": [f"c{no}" for no in range(10_000)]},
        {**STALE, "name": "x" * 201},
        {**STALE, "remind_after_hours": 1e3},
    ):
        with subtests.test(rule=rule):
            assert put(service, rule).status_code == 422


def test_a_deployment_has_at_most_a_hundred_rules(service: RunningService, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO alert_rules (id, deployment_no, version, kind, config, enabled)"
            " SELECT 'r' || i, deployment_no, 1, kind, config, true FROM alert_rules, generate_series(1, 97) AS i WHERE id = 'unfair'"
        )

    one_more, changed = put(service, STALE), put(service, STALE, "r7")

    assert one_more.status_code == 409
    assert (changed.status_code, changed.json()["version"]) == (200, 2)


def test_readers_read_rules_and_only_managers_change_them(service: RunningService) -> None:
    reader, logger = service.as_(Role.READ), service.as_(Role.INGEST)

    assert service.client.get(RULES, headers=reader).status_code == 200
    assert service.client.get(RULES, headers=logger).status_code == 403
    assert put(service, STALE, headers=reader).status_code == 403
    assert service.client.delete(f"{RULES}/unfair", headers=reader).status_code == 403


def test_a_key_bound_to_another_deployment_sees_no_rules(service: RunningService, database: Database) -> None:
    assert service.client.post("/v1/deployments", json=deployment(id="other")).status_code == 201
    with database.engine.begin() as connection:
        other = connection.exec_driver_sql("SELECT no FROM deployments WHERE id = 'other'").scalar_one()
    bound = service.as_(Role.MANAGE, other)

    assert service.client.get(RULES, headers=bound).status_code == 404
    assert service.client.get(f"{RULES}/unfair", headers=bound).status_code == 404
    assert put(service, STALE, headers=bound).status_code == 404
    assert service.client.delete(f"{RULES}/unfair", headers=bound).status_code == 404


def test_a_manager_of_one_deployment_names_a_channel_whose_address_stays_hidden(service: RunningService, database: Database) -> None:
    channel = {"name": "On-call", "kind": "webhook", "url": "https://alerts.example.com/evenhand"}
    service.client.put("/v1/alert-channels/on-call", json=channel).raise_for_status()
    with database.engine.begin() as connection:
        own = connection.exec_driver_sql("SELECT no FROM deployments").scalar_one()
    bound = service.as_(Role.MANAGE, own)

    rule = put(service, {**STALE, "channels": ["on-call"]}, headers=bound)

    assert (rule.status_code, rule.json()["channels"]) == (200, ["on-call"])
    assert "alerts.example.com" not in rule.text
    assert service.client.get("/v1/alert-channels/on-call", headers=bound).status_code == 403


def is_blocked(database: Database) -> bool:
    statement = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0"
    with database.engine.begin() as connection:
        return bool(connection.exec_driver_sql(statement).scalar_one())


@pytest.mark.parametrize(
    ("path", "body"),
    [(f"{RULES}/mine", STALE), ("/v1/deployments/credit-risk/report-schedules/mine", {"name": "Monthly", "rhythm": "monthly"})],
)
def test_a_channel_that_is_deleted_while_it_is_named_is_a_conflict(
    path: str, body: dict[str, Any], service: RunningService, database: Database
) -> None:
    channel = {"name": "On-call", "kind": "webhook", "url": "https://alerts.example.com/evenhand"}
    service.client.put("/v1/alert-channels/on-call", json=channel).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    with ThreadPoolExecutor(1) as pool, database.engine.begin() as deleting:
        deleting.exec_driver_sql("DELETE FROM alert_channels")
        request = pool.submit(service.client.put, path, json={**body, "channels": ["on-call"]})
        wait_until(lambda: request.done() or is_blocked(database), "the request waits for the channel")
    answer = request.result()

    assert answer.status_code == 409
    assert "on-call" in answer.json()["detail"]
    assert service.client.get(path).status_code == 404


def test_changes_of_rules_are_remembered(service: RunningService, database: Database) -> None:
    put(service, STALE)
    put(service, STALE)
    service.client.delete(f"{RULES}/mine")

    with database.engine.begin() as connection:
        found = connection.exec_driver_sql("SELECT action, subject FROM activities WHERE action LIKE 'alert_rule.%%' ORDER BY no")
        assert [tuple(row) for row in found] == [("alert_rule.changed", "mine"), ("alert_rule.deleted", "mine")]
