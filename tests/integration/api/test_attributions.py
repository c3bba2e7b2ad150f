"""Attributions over HTTP: their cost, one after the other, and a known world that is recovered."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from app.base.clock import floor_to_hour
from app.database.tables import AttributionRow
from tests.builders.attributions import run_all
from tests.builders.page_words import says
from tests.models.serving import ModelServer, serve
from tests.service import RunningService

PATH = "/v1/deployments/loans/attributions"
COLUMNS = ("sex", "income", "age")
HOUR = floor_to_hour(datetime.now(UTC)) - timedelta(hours=2)
WINDOW = {"from": HOUR.isoformat(), "to": (HOUR + timedelta(hours=1)).isoformat()}


class ByIncome:
    """A model that uses one feature only: everyone of 50 or more is approved."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        income = list(columns).index("income")
        return [(int(row[income] >= 50), 0.5) for row in rows]


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve(ByIncome()) as server:
        yield server


def register(service: RunningService, url: str | None) -> None:
    """A deployment with 400 records of one past hour: women have lower incomes, and are as old as men."""
    rng = np.random.default_rng(5)
    body: dict[str, Any] = {
        "id": "loans",
        "name": "Loans",
        "problem_type": "binary",
        "features": [
            {"name": "sex", "type": "string", "kind": "categorical"},
            {"name": "income", "type": "integer", "kind": "numeric"},
            {"name": "age", "type": "integer", "kind": "numeric"},
        ],
        "outputs": {"prediction": "prediction"},
        "model_revision": "1",
    }
    if url is not None:
        body["endpoint"] = {"url": url, "page_size": 100}
    service.client.post("/v1/deployments", json=body).raise_for_status()
    monitor = {"favourable": [1], "unfavourable": [0], "attributes": [{"feature": "sex", "monitored": ["female"], "reference": ["male"]}]}
    service.client.put("/v1/deployments/loans/fairness-monitor", json={**monitor, "min_records": 10}).raise_for_status()
    people = [(sex, int(rng.integers(0, 100) - 15 * (sex == "female")), int(rng.integers(20, 70))) for sex in ("female", "male") * 200]
    records = [
        {
            "id": str(no),
            "features": dict(zip(COLUMNS, person, strict=True)),
            "prediction": ByIncome().predict(COLUMNS, [person])[0][0],
            "scored_at": HOUR.isoformat(),
        }
        for no, person in enumerate(people)
    ]
    path = "/v1/deployments/loans/payload-records?historical=true"
    service.client.post(path, content=json.dumps({"records": records}), headers={"content-type": "application/json"}).raise_for_status()


def attribute(service: RunningService, **body: object) -> dict[str, Any]:
    """The attribution of that request, once it is over."""
    asked = service.client.post(PATH, json={**WINDOW, **body})
    assert asked.status_code == 202, asked.text
    run_all(service.database)
    found: dict[str, Any] = service.client.get(asked.headers["Location"]).json()
    return found


def test_a_model_that_uses_one_feature_only_is_recovered_at_the_cost_that_was_said(service: RunningService, model: ModelServer) -> None:
    register(service, model.url)

    cost = service.client.post(PATH, json={**WINDOW, "dry_run": True})
    listed = service.client.get(PATH).json()["attributions"]
    asked_before = model.counts.rows
    found = attribute(service)

    assert (cost.status_code, listed, asked_before) == (200, [], 0)
    assert cost.json()["rows"] == found["planned_rows"] == found["asked_rows"] == model.counts.rows
    assert cost.json()["requests"] == found["planned_requests"] == model.counts.requests
    assert (cost.json()["rows"], cost.json()["records"]) == (200 * 6 + 100, 400)
    assert (found["state"], found["problem"], found["result"]["method"]) == ("done", None, "hybrids")
    (gap,) = found["result"]["gaps"]
    hybrids = gap["hybrids"]
    shares = {tuple(share["features"]): share["share"]["value"] for share in hybrids["shares"]}
    assert gap["gap"] == pytest.approx(
        gap["monitored"]["favourable"] / gap["monitored"]["records"] - gap["reference"]["favourable"] / gap["reference"]["records"],
        abs=1e-9,
    )
    assert shares["income",] == pytest.approx(gap["gap"], abs=1e-9)
    assert shares["sex",] == shares["age",] == 0
    assert sum(shares.values()) == pytest.approx(hybrids["gap_of_pairs"], abs=1e-9)
    assert hybrids["gap_of_pairs"] + hybrids["sampling"] == pytest.approx(gap["gap"], abs=1e-9)
    assert (hybrids["differing"], hybrids["compared"], hybrids["pairs_left_out"]) == (0, 100, 0)
    assert found["sentences"][1].endswith("by income.")


def test_without_an_endpoint_each_feature_divides_the_gap_and_nothing_is_asked(service: RunningService) -> None:
    register(service, None)

    cost = service.client.post(PATH, json={**WINDOW, "dry_run": True}).json()
    found = attribute(service)

    assert (cost["method"], cost["rows"], cost["requests"]) == ("kitagawa", 0, 0)
    assert (found["result"]["method"], found["planned_rows"], found["asked_rows"]) == ("kitagawa", 0, 0)
    (gap,) = found["result"]["gaps"]
    parts = {cell["feature"]: cell for cell in gap["cells"]}
    for one in parts.values():
        assert sum(one[part]["value"] for part in ("who_applies", "how_treated", "no_counterpart")) == pytest.approx(gap["gap"], abs=1e-9)
    assert abs(parts["income"]["how_treated"]["value"]) < 0.05
    assert abs(parts["income"]["who_applies"]["value"]) > 0.1
    assert abs(parts["age"]["who_applies"]["value"]) < 0.05
    assert "carried by who applies" in found["sentences"][1]


@pytest.mark.nightly
def test_an_endpoint_that_fails_ends_the_attribution_with_what_to_do(service: RunningService, model: ModelServer) -> None:
    register(service, model.url)
    service.client.patch("/v1/deployments/loans", json={"endpoint": {"url": f"{model.base}/nowhere", "page_size": 100}}).raise_for_status()
    model.answer = lambda _path, _body: type(model).answer(model, "/invocations", b"{}")  # type: ignore[method-assign]

    found = attribute(service)

    assert (found["state"], found["result"], found["sentences"]) == ("failed", None, [])
    assert found["asked_rows"] is None
    assert found["planned_rows"] == 1300
    assert "endpoint" in found["problem"]


def test_asking_again_while_one_waits_returns_it_and_records_one_activity(service: RunningService) -> None:
    register(service, None)

    first, again = (service.client.post(PATH, json=WINDOW) for _ in range(2))
    other = service.client.post(PATH, json={**WINDOW, "pairs": 7})
    now, later = (service.client.post(PATH) for _ in range(2))

    assert first.json()["id"] == again.json()["id"] != other.json()["id"]
    assert (now.json()["id"], now.json()["from"]) == (later.json()["id"], later.json()["from"])
    assert now.json()["to"] <= later.json()["to"]
    assert len(service.client.get(PATH).json()["attributions"]) == 3
    actions = [activity["action"] for activity in service.client.get("/v1/deployments/loans/activities").json()["activities"]]
    assert actions.count("attribution.requested") == 3


def test_the_window_of_a_check_can_be_named(service: RunningService) -> None:
    register(service, None)
    check = service.client.post("/v1/deployments/loans/checks", json=WINDOW).json()

    found = service.client.post(PATH, json={"check_id": check["id"]}).json()

    assert (found["from"], found["to"], found["check_id"]) == (check["from"], check["to"], check["id"])
    missing = service.client.post(PATH, json={"check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11"})
    assert missing.status_code == 404


def test_bad_requests_are_refused_and_nothing_is_stored(service: RunningService, model: ModelServer, subtests: pytest.Subtests) -> None:
    register(service, model.url)

    for body, field in (
        ({"from": WINDOW["from"]}, "body"),
        ({**WINDOW, "check_id": "5f0c7a52-6d0e-4a52-9a53-0d1f3c2b7e11"}, "body"),
        ({"check_id": "x"}, "check_id"),
        ({"pairs": 0}, "pairs"),
        ({"max_rows": 0}, "max_rows"),
        ({"dry_run": "yes"}, "dry_run"),
        ({"rows": 5}, "rows"),
        ({"comparisons": []}, "comparisons"),
        ({"comparisons": [[]]}, "comparisons[0]"),
        ({"comparisons": ["sex"]}, "comparisons[0]"),
        ({"comparisons": [["sex"], ["sex", "age"]]}, "comparisons[1]"),
        ({"comparisons": [["sex"], ["sex"]]}, "comparisons[1]"),
        ({"comparisons": [["sex", "sex"]], "dry_run": True}, "comparisons[0]"),
        ({"dry_run": True, **WINDOW, "max_rows": 5}, "max_rows"),
        ({"from": WINDOW["to"], "to": WINDOW["from"]}, "from"),
    ):
        with subtests.test(body=body, field=field):
            answer = service.client.post(PATH, json=body)

            assert answer.status_code == 422, answer.text
            assert field in {error["field"] for error in answer.json()["errors"]}
            with service.database.transaction() as session:
                assert session.query(AttributionRow).count() == 0


def watch_together(service: RunningService) -> None:
    """The monitor with sex, with age, and with both together."""
    path = "/v1/deployments/loans/fairness-monitor"
    body = {
        name: value for name, value in service.client.get(path).json().items() if name not in {"version", "warnings", "measured_metrics"}
    }
    age = {"feature": "age", "monitored": [[20, 39]], "reference": [[40, 70]]}
    changed = {**body, "attributes": [*body["attributes"], age], "intersections": [["sex", "age"]]}
    service.client.put(path, json=changed).raise_for_status()


@pytest.mark.thorough
def test_an_intersection_is_attributed_where_it_is_asked_for(service: RunningService, model: ModelServer) -> None:
    register(service, model.url)
    watch_together(service)

    cost = service.client.post(PATH, json={**WINDOW, "comparisons": [["age", "sex"]], "dry_run": True}).json()
    together = attribute(service, comparisons=[["age", "sex"]])
    alone = service.client.post(PATH, json=WINDOW).json()

    assert together["comparisons"] == [["age", "sex"]]
    assert cost["rows"] == together["planned_rows"] == together["asked_rows"] == model.counts.rows
    gaps = together["result"]["gaps"]
    assert [gap["features"] for gap in gaps] == [["sex", "age"]] * len(gaps)
    assert {gap["attribute"] for gap in gaps} == {"sex × age"}
    (both,) = (gap for gap in gaps if gap["monitored"]["label"] == "female × 20-39")
    assert both["reference"]["label"] == "male × 40-70"
    assert sum(share["share"]["value"] for share in both["hybrids"]["shares"]) == pytest.approx(both["hybrids"]["gap_of_pairs"], abs=1e-9)
    assert together["sentences"][0].startswith("Of every 100 records of ")
    # Another question, not the same one again.
    assert (alone["comparisons"], alone["id"] != together["id"]) == (None, True)


def test_without_an_endpoint_an_intersection_is_divided_by_features(service: RunningService) -> None:
    register(service, None)
    watch_together(service)

    found = attribute(service, comparisons=[["sex"], ["sex", "age"]])

    assert {tuple(gap["features"]) for gap in found["result"]["gaps"]} == {("sex",), ("sex", "age")}


def test_an_intersection_that_is_no_longer_watched_ends_with_the_reason(service: RunningService, snapshot: SnapshotAssertion) -> None:
    register(service, None)
    watch_together(service)
    asked = service.client.post(PATH, json={**WINDOW, "comparisons": [["sex", "age"]]})
    path = "/v1/deployments/loans/fairness-monitor"
    body = {
        name: value for name, value in service.client.get(path).json().items() if name not in {"version", "warnings", "measured_metrics"}
    }
    service.client.put(path, json={**body, "intersections": []}).raise_for_status()

    run_all(service.database)

    found = service.client.get(asked.headers["Location"]).json()
    assert found["state"] == "failed"
    assert says(found["problem"], "comparisons[0]", "sex", "age")
    assert found["problem"] == snapshot


def test_a_waiting_attribution_is_cancelled_at_once_and_deleted(service: RunningService) -> None:
    register(service, None)
    where = f"{PATH}/{service.client.post(PATH, json=WINDOW).json()['id']}"

    too_early = service.client.delete(where)
    cancelled = service.client.post(f"{where}/cancellation")
    again = service.client.post(f"{where}/cancellation")
    run_all(service.database)
    deleted, gone = service.client.delete(where), service.client.get(where)

    assert (too_early.status_code, cancelled.status_code, again.status_code) == (409, 202, 409)
    assert "cancel it first" in too_early.json()["detail"]
    assert (cancelled.json()["state"], cancelled.json()["cancel_requested"]) == ("cancelled", True)
    assert cancelled.json()["finished_at"] is not None
    assert (deleted.status_code, gone.status_code) == (204, 404)
    actions = [activity["action"] for activity in service.client.get("/v1/deployments/loans/activities").json()["activities"]]
    assert actions[:3] == ["attribution.deleted", "attribution.cancelled", "attribution.requested"]


def test_a_result_can_be_deleted(service: RunningService) -> None:
    register(service, None)
    found = attribute(service)

    assert service.client.post(f"{PATH}/{found['id']}/cancellation").status_code == 409
    assert service.client.delete(f"{PATH}/{found['id']}").status_code == 204
    assert service.client.get(PATH).json()["attributions"] == []


def test_without_a_monitor_nothing_is_attributed(service: RunningService) -> None:
    register(service, None)
    service.client.delete("/v1/deployments/loans/fairness-monitor").raise_for_status()

    assert [service.client.post(PATH, json={"dry_run": dry}).status_code for dry in (True, False)] == [409, 409]


def test_attributions_are_listed_newest_first_in_pages(service: RunningService) -> None:
    register(service, None)
    made = [service.client.post(PATH, json={**WINDOW, "pairs": pairs}).json()["id"] for pairs in (1, 2, 3)]

    first = service.client.get(PATH, params={"limit": 2}).json()
    second = service.client.get(PATH, params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [attribution["id"] for attribution in first["attributions"] + second["attributions"]] == made[::-1]
    assert second["next_cursor"] is None
    assert service.client.get(PATH, params={"trigger": "nightly"}).json()["attributions"] == []
    assert service.client.get(PATH, params={"state": "done"}).status_code == 422


def test_nightly_settings_make_no_new_version_of_the_monitor(service: RunningService) -> None:
    register(service, None)
    path = "/v1/deployments/loans/fairness-monitor"
    stored = service.client.get(path).json()
    body = {name: value for name, value in stored.items() if name not in {"version", "warnings", "measured_metrics"}}

    nightly = service.client.put(path, json={**body, "attribution": {"nightly": True, "max_rows": 900}}).json()
    refused = service.client.put(path, json={**body, "attribution": {"nightly": True, "max_rows": 0}})

    assert (nightly["version"], nightly["attribution"]) == (stored["version"], {"nightly": True, "max_rows": 900})
    assert refused.json()["errors"][0]["field"] == "attribution.max_rows"
    changes = service.client.get("/v1/deployments/loans/activities").json()["activities"][0]["details"]
    assert "attribution" in str(changes)
