from datetime import UTC, datetime, timedelta

import httpx
import pytest

from app.access.principals import Role
from app.checks.lease_queries import CHECK_POLICY, claim_check, finish_check, renew_lease
from app.checks.result_queries import StoredTable, store_measurements, store_tables
from app.domain.check import CheckRun, CheckState, DataSet, Failure, Measurement, Progress, Scope
from app.domain.monitor import Comparison
from tests.builders.bodies import deployment, monitor
from tests.builders.check_results import read_results
from tests.service import RunningService

CHECKS = "/v1/deployments/credit-risk/checks"
NINE, TEN = "2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z"


@pytest.fixture
def watched(service: RunningService) -> RunningService:
    """The service with a deployment and its monitor."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put("/v1/deployments/credit-risk/fairness-monitor", json=monitor()).raise_for_status()
    return service


def started(service: RunningService) -> CheckRun:
    with service.database.transaction() as session:
        check = claim_check(session, token="worker", policy=CHECK_POLICY)  # noqa: S106 - a lease's, no secret
    assert check is not None
    return check


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def fields(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    return {problem["field"] for problem in answer.json()["errors"]}


def test_check_now_queues_the_hour_so_far_and_says_where_to_look(watched: RunningService) -> None:
    before = datetime.now(UTC)
    asked = watched.client.post(CHECKS)
    read = watched.client.get(asked.headers["Location"])

    assert asked.status_code == 202
    check = read.json()
    assert (check["state"], check["trigger"], check["headlines"]) == ("queued", "request", [])
    assert moment(check["from"]) == moment(check["to"]).replace(minute=0, second=0, microsecond=0)
    assert abs(moment(check["to"]) - before) < timedelta(minutes=1)
    assert {key: check[key] for key in asked.json()} == asked.json()
    assert check["requested_by"] in watched.admin_key


def test_asking_again_while_a_check_now_waits_brings_that_one_up_to_now(watched: RunningService) -> None:
    first, second = (watched.client.post(CHECKS).json() for _ in range(2))
    started(watched)
    third = watched.client.post(CHECKS).json()

    assert second["id"] == first["id"]
    assert moment(second["to"]) > moment(first["to"])
    assert third["id"] != first["id"]


def test_an_explicit_range_is_checked_as_it_was_asked_for(watched: RunningService) -> None:
    asked = [watched.client.post(CHECKS, json={"from": "2026-03-01T10:00:00+01:00", "to": TEN}).json() for _ in range(2)]

    assert [(check["trigger"], check["from"], check["to"]) for check in asked] == [("range", NINE, TEN)] * 2
    assert asked[0]["id"] != asked[1]["id"]


def test_a_range_that_ends_within_the_tolerance_of_clocks_ends_now(watched: RunningService) -> None:
    to = datetime.now(UTC) + timedelta(seconds=30)

    asked = watched.client.post(CHECKS, json={"from": NINE, "to": to.isoformat()}).json()

    assert moment(asked["to"]) < to


def test_a_range_that_cannot_be_checked_is_refused_by_name(watched: RunningService, subtests: pytest.Subtests) -> None:
    for body, field in (
        ({"from": NINE}, "body"),
        ({"to": NINE}, "body"),
        ({"from": TEN, "to": NINE}, "from"),
        ({"from": NINE, "to": NINE}, "from"),
        ({"from": NINE, "to": "2999-01-01T00:00:00Z"}, "to"),
        ({"from": NINE, "to": "9999-12-31T23:59:59-14:00"}, "to"),
        ({"from": "0001-01-01T00:00:00+14:00", "to": TEN}, "from"),
        ({"from": "2026-03-01T09:00:00", "to": TEN}, "from"),
        ({"from": 1_700_000_000, "to": TEN}, "from"),
        ({"from": "1700000000", "to": TEN}, "from"),
        ({"from": NINE, "to": TEN, "hour": 9}, "hour"),
    ):
        with subtests.test(body=body, field=field):
            assert fields(watched.client.post(CHECKS, json=body)) == {field}


def test_without_a_monitor_the_answer_says_what_to_do_first(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()

    now, ranged = service.client.post(CHECKS), service.client.post(CHECKS, json={"from": NINE, "to": TEN})

    assert (now.status_code, ranged.status_code) == (409, 409)
    assert "PUT" in now.json()["detail"]
    assert "/v1/deployments/credit-risk/fairness-monitor" in now.json()["detail"]


def test_a_running_check_shows_its_progress_and_an_ended_one_what_it_stored(watched: RunningService) -> None:
    address = watched.client.post(CHECKS, json={"from": NINE, "to": TEN}).headers["Location"]
    check = started(watched)
    with watched.database.transaction() as session:
        renew_lease(session, check, lease=CHECK_POLICY.lease, progress=Progress(step="scoring copies", done=500, total=824))
    running = watched.client.get(address).json()
    measurement = Measurement(
        metric="disparate_impact",
        data=DataSet.AS_LOGGED,
        scope=Scope.GROUP,
        comparison=Comparison(("Sex",)),
        group="female",
        at=check.span.end,
        value=None,
        reason="the reference rate is zero",
        lower=None,
        upper=None,
        interval_method=None,
        n=400,
        verdict="not_computable",
        lower_limit=0.8,
        upper_limit=None,
    )
    with watched.database.transaction() as session:
        finish_check(
            session,
            check,
            state=CheckState.SUCCEEDED,
            window={"records": 400},
            alerts_due=True,
            monitor_version=1,
            model_revision="r1",
        )
        store_tables(session, check.no, [StoredTable(DataSet.AS_LOGGED, Comparison(("Sex",)), "span", {"n": [1, 2]})])
        store_measurements(session, check.no, check.deployment_no, [measurement])
    ended = read_results(watched.client, address)

    assert (running["state"], running["attempts"], running["progress"]) == (
        "running",
        1,
        {"step": "scoring copies", "done": 500, "total": 824},
    )
    assert (ended["state"], ended["window"], ended["monitor_version"], ended["model_revision"]) == ("succeeded", {"records": 400}, 1, "r1")
    assert ended["tables"] == [{"data": "as_logged", "attribute": "Sex", "part": "span", "cells": {"n": [1, 2]}}]
    assert [(m["metric"], m["value"], m["reason"], m["at"]) for m in ended["measurements"]] == [
        ("disparate_impact", None, "the reference rate is zero", TEN)
    ]


def test_a_failed_check_says_why(watched: RunningService) -> None:
    address = watched.client.post(CHECKS).headers["Location"]
    check = started(watched)
    with watched.database.transaction() as session:
        pause = CHECK_POLICY.retry_after(check)
        finish_check(
            session,
            check,
            state=CheckState.FAILED,
            reason="The model answered 500.",
            failure=Failure.SCORING_FAILED,
            retry_after=pause,
            alerts_due=True,
        )

    ended = watched.client.get(address).json()

    assert (ended["state"], ended["reason"], ended["next_attempt_at"]) == ("failed", "The model answered 500.", None)


def test_checks_are_listed_newest_first_in_pages_and_by_state(watched: RunningService) -> None:
    asked = [watched.client.post(CHECKS, json={"from": NINE, "to": TEN}).json()["id"] for _ in range(5)]
    started(watched)
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        answer = watched.client.get(CHECKS, params={"limit": 2, **cursor}).json()
        seen += [check["id"] for check in answer["checks"]]
        if answer["next_cursor"] is None:
            break
        cursor = {"cursor": answer["next_cursor"]}
    running = watched.client.get(CHECKS, params={"state": "running"}).json()["checks"]

    assert seen == asked[::-1]
    assert [check["id"] for check in running] == asked[:1]
    assert watched.client.get(CHECKS, params={"state": "paused"}).status_code == 422


def test_a_waiting_check_is_cancelled_at_once_a_running_one_soon_and_an_ended_one_not_at_all(watched: RunningService) -> None:
    running, waiting = (watched.client.post(CHECKS, json={"from": NINE, "to": TEN}).headers["Location"] for _ in range(2))
    started(watched)

    answers = [watched.client.post(f"{address}/cancellation") for address in (waiting, running, waiting)]

    assert [answer.status_code for answer in answers] == [202, 202, 409]
    assert [(answer.json()["state"], answer.json()["cancel_requested"]) for answer in answers[:2]] == [
        ("cancelled", True),
        ("running", True),
    ]


def test_checks_of_another_deployment_and_unknown_ones_are_not_found(watched: RunningService) -> None:
    watched.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()
    check_id = watched.client.post(CHECKS).json()["id"]

    assert watched.client.get(f"/v1/deployments/other/checks/{check_id}").status_code == 404
    assert watched.client.post(f"/v1/deployments/other/checks/{check_id}/cancellation").status_code == 404
    assert watched.client.get(f"{CHECKS}/00000000-0000-0000-0000-000000000000").status_code == 404
    assert watched.client.get(f"{CHECKS}/no-id").status_code == 422


def test_reading_checks_takes_the_role_read_and_asking_for_them_the_role_manage(watched: RunningService) -> None:
    address = watched.client.post(CHECKS).headers["Location"]

    def statuses(role: Role) -> list[int]:
        headers = watched.as_(role)
        answers = [
            watched.client.get(CHECKS, headers=headers),
            watched.client.get(address, headers=headers),
            watched.client.post(CHECKS, headers=headers),
            watched.client.post(f"{address}/cancellation", headers=headers),
        ]
        return [answer.status_code for answer in answers]

    assert statuses(Role.INGEST) == [403, 403, 403, 403]
    assert statuses(Role.READ) == [200, 200, 403, 403]
    assert statuses(Role.MANAGE) == [200, 200, 202, 202]
