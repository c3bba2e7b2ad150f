"""Evidence over HTTP."""

import json
import re
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.clock import floor_to_hour
from app.evidence.update import update_evidence
from tests.builders.page_words import says
from tests.service import RunningService

COLUMNS = [{"name": "sex", "type": "string", "kind": "categorical"}]
DEPLOYMENT = {
    "id": "loans",
    "name": "Loans",
    "problem_type": "binary",
    "features": COLUMNS,
    "outputs": {"prediction": "approved"},
    "model_revision": "1",
}
TYPE = {"content-type": "application/json"}
MONITOR = {
    "favourable": [1],
    "unfavourable": [0],
    "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"]}],
    "metrics": ["disparate_impact"],
}
PATH = "/v1/deployments/loans/evidence"


@pytest.mark.thorough
def test_an_import_is_counted_and_every_hour_of_a_comparison_can_be_read(service: RunningService) -> None:
    client = service.client
    assert client.post("/v1/deployments", json=DEPLOYMENT).status_code == 201
    assert client.get(PATH).status_code == 409
    assert client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).status_code == 200
    assert {comparison["reason"] for comparison in client.get(PATH).json()["comparisons"]} >= {
        "no hour has been counted yet; a worker counts each hour after its end"
    }

    start = floor_to_hour(datetime.now(UTC)) - timedelta(hours=6)
    for times in (1, 2):  # the second import goes into hours that are counted
        records = [
            {
                "id": f"{times}-{hour}-{no}",
                "features": {"sex": sex},
                "prediction": int(no % 3 > 0),
                "scored_at": (start + timedelta(hours=hour)).isoformat(),
            }
            for hour in range(4)
            for no in range(12)
            for sex in (("female", "male")[no % 2],)
        ]
        sent = client.post(
            "/v1/deployments/loans/payload-records?historical=true",
            content=json.dumps({"records": records}),
            headers={"content-type": "application/json"},
        )
        assert sent.status_code < 300, sent.text
        update_evidence(service.database, grace=timedelta(seconds=30))

    answer = client.get(PATH, params={"limit": 1}).json()
    (below,) = answer["comparisons"]
    assert (below["attribute"], below["group"], below["reference"], below["direction"]) == ("sex", "female", "male", "below")
    assert (below["state"], below["row"], below["evidence"]) == ("Undecided", 11, "collecting")
    assert says(below["sentence"], "female", "sex", "0.8")
    assert "evidence counts at a tenth" in answer["guarantee"]
    assert answer["remarks"][0].startswith("Hours before ")
    assert answer["next_cursor"] is not None
    following = client.get(PATH, params={"limit": 1, "cursor": answer["next_cursor"]}).json()["comparisons"][0]
    assert following["direction"] == "above"

    hours = client.get(f"{PATH}/{below['id']}/hours", params={"limit": 2}).json()
    assert [hour["monitored_records"] for hour in hours["hours"]] == [12, 12]
    rest = client.get(f"{PATH}/{below['id']}/hours", params={"cursor": hours["next_cursor"]}).json()
    assert [hour["monitored_records"] for hour in rest["hours"]][:2] == [12, 12]
    assert client.get(f"{PATH}/nothing/hours").status_code == 404

    (entry,) = client.get("/v1/overview").json()["deployments"]
    assert (entry["evidence"]["unfair"], entry["evidence"]["confirmed_fair"], entry["evidence"]["undecided"]) == (0, 0, 1)
    assert entry["evidence"]["counted_until"] is not None
    series = "/v1/deployments/loans/measurements"
    sides = client.get(series, params={"metric": "disparate_impact", "data": "as_logged", "group": "female"}).json()["evidence"]
    assert sides == [below, following]
    assert [(one["direction"], one["state"], one["alarms"]) for one in sides] == [("below", "Undecided", []), ("above", "Undecided", [])]
    for filters in ({}, {"metric": "accuracy"}, {"metric": "disparate_impact", "scope": "overall"}):
        assert client.get(series, params=filters).json()["evidence"] == []


def test_a_plan_can_be_read_before_and_after_a_monitor_is_set(service: RunningService) -> None:
    client, path = service.client, f"{PATH}/plan"
    client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()
    assert client.get(path).status_code == 409
    assert "so no time can be given" in client.post(path, json=MONITOR).json()["comparisons"][0]["words"]

    start = floor_to_hour(datetime.now(UTC)) - timedelta(hours=10)
    records = [
        {
            "id": f"{hour}-{no}",
            "features": {"sex": ("female", "male", "male")[no % 3]},
            "prediction": int(no % 2 > 0),
            "scored_at": (start + timedelta(hours=hour)).isoformat(),
        }
        for hour in range(9)
        for no in range(30)
    ]
    sent = client.post("/v1/deployments/loans/payload-records?historical=true", content=json.dumps({"records": records}), headers=TYPE)
    assert sent.status_code < 300, sent.text
    before = client.post(path, json=MONITOR, params={"ratio": 0.5, "chance": 0.8}).json()
    client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    at_once = client.get(path, params={"ratio": 0.5, "chance": 0.8}).json()
    update_evidence(service.database, grace=timedelta(seconds=0))
    after = client.get(path, params={"ratio": 0.5, "chance": 0.8}).json()

    assert before == at_once == after
    (one,) = after["comparisons"]
    assert (one["monitored_records"], one["reference_records"]) == (90, 180)
    assert one["hours"] > 0
    assert (after["ratio"], after["chance"]) == (0.5, 0.8)
    for query in ({"ratio": 0}, {"ratio": "x"}, {"chance": 0.3}, {"chance": 1}, {"ration": 0.5}):
        assert client.get(path, params=query).status_code == 422
        assert client.post(path, params=query, json=MONITOR).status_code == 422
    wrong = client.post(path, json=MONITOR | {"favourable": [0]}).json()
    assert wrong["errors"][0]["field"].startswith(("favourable", "unfavourable"))


@pytest.mark.thorough
def test_who_scores_monthly_plans_and_sets_the_budget_before_the_first_block(service: RunningService) -> None:
    client, path = service.client, f"{PATH}/plan"
    client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()
    start = floor_to_hour(datetime.now(UTC)) - timedelta(days=12 * 30)
    for month in range(12):  # 400 records a month: 51 of 120 women and 140 of 280 men
        records = [
            {
                "id": f"{month}-{no}",
                "features": {"sex": "female" if no < 120 else "male"},
                "prediction": int(no < 57 or no >= 260),
                "scored_at": (start + timedelta(days=30 * month)).isoformat(),
            }
            for no in range(400)
        ]
        sent = client.post("/v1/deployments/loans/payload-records?historical=true", content=json.dumps({"records": records}), headers=TYPE)
        assert sent.status_code < 300, sent.text
    said = {"each_record_another_person": True}
    planned = {
        hours: client.post(
            path, json={**MONITOR, "evidence": {**said, "false_alarm_hours": hours}}, params={"ratio": 0.6, "chance": 0.5}
        ).json()
        for hours in (8_760, 240)
    }
    months = [round(plan["comparisons"][0]["hours"] / 720) for plan in planned.values()]

    assert [plan["false_alarm_comparisons"] for plan in planned.values()] == [4, 4]
    assert (months[0] in {6, 7}, months[1] < months[0]) == (True, True), months
    assert f"{planned[8_760]['comparisons'][0]['hours'] / 730:.0f} months" in planned[8_760]["comparisons"][0]["words"]
    monitor = "/v1/deployments/loans/fairness-monitor"
    assert client.put(monitor, json={**MONITOR, "evidence": {**said, "false_alarm_hours": 19}}).status_code == 422
    assert client.put(monitor, json={**MONITOR, "evidence": {**said, "false_alarm_hours": 240}}).status_code == 200
    while update_evidence(service.database, grace=timedelta(seconds=0)):
        pass
    assert client.get(path, params={"ratio": 0.6, "chance": 0.5}).json()["comparisons"] == planned[240]["comparisons"]
    assert "in 240 blocks" in client.get(PATH).json()["guarantee"]
    fixed = client.put(monitor, json={**MONITOR, "evidence": {**said, "false_alarm_hours": 8_760}})
    assert (fixed.status_code, fixed.json()["errors"][0]["field"]) == (422, "evidence.false_alarm_hours")


def test_a_column_that_says_whose_record_it_is_stays_as_long_as_the_monitor_names_it(
    service: RunningService, snapshot: SnapshotAssertion
) -> None:
    client = service.client
    with_person = {**DEPLOYMENT, "meta": [{"name": "customer", "type": "string", "kind": "categorical"}]}
    assert client.post("/v1/deployments", json=with_person).status_code == 201
    assert client.put("/v1/deployments/loans/fairness-monitor", json={**MONITOR, "evidence": {"person": "customer"}}).status_code == 200

    refused = client.patch("/v1/deployments/loans", json={"meta": []})
    assert refused.status_code == 409
    assert says(said := refused.json()["detail"], "'customer'")
    assert said == snapshot
    assert "Change or delete the monitor first." in refused.json()["detail"]

    client.put("/v1/deployments/loans/fairness-monitor", json=MONITOR).raise_for_status()
    assert client.patch("/v1/deployments/loans", json={"meta": []}).status_code == 200


def test_who_declares_what_of_persons_and_the_budget_are_kept_with_the_monitor(service: RunningService) -> None:
    client, path = service.client, "/v1/deployments/loans/fairness-monitor"
    client.post("/v1/deployments", json=DEPLOYMENT).raise_for_status()

    def put(**evidence: object) -> httpx.Response:
        return client.put(path, json=MONITOR | {"evidence": evidence})

    said = put(each_record_another_person=True, false_alarm_hours=240).json()["evidence"]
    assert said["each_record_another_person"]
    assert re.fullmatch(r"[^()]+ \(key \w{8}\)", said["declared_by"])
    assert said["declared_on"] == datetime.now(UTC).date().isoformat()
    # What is read can be sent again.
    assert put(**said).json()["evidence"] == said
    assert put(**said | {"false_alarm_hours": 19}).json()["errors"][0]["field"] == "evidence.false_alarm_hours"

    start = floor_to_hour(datetime.now(UTC)) - timedelta(hours=3)
    records = [
        {"id": f"{no}", "features": {"sex": ("female", "male")[no % 2]}, "prediction": no % 3 % 2, "scored_at": start.isoformat()}
        for no in range(60)
    ]
    sent = client.post("/v1/deployments/loans/payload-records?historical=true", content=json.dumps({"records": records}), headers=TYPE)
    assert sent.status_code < 300, sent.text
    update_evidence(service.database, grace=timedelta(seconds=0))

    (refused,) = put(**said | {"false_alarm_hours": 8760}).json()["errors"]
    assert refused["message"] == "is fixed at 240 since the first block of evidence was counted"
    guarantee = client.get(PATH).json()["guarantee"]
    assert "At most one false alarm in 240 blocks on average for all 2 comparisons together" in guarantee
    assert f"as declared by {said['declared_by']} on {said['declared_on']}" in guarantee
