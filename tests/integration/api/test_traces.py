"""What is kept of who came, from where, and what they took away."""

from pathlib import Path

import httpx
import pytest
from structlog.testing import capture_logs

from app.access import failed_log_ins
from app.access.principals import Role
from app.access.users.user_rules import create_user
from app.database.engine import Database
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService, running_service

DEPLOYMENT = "/v1/deployments/credit-risk"
PASSWORD = "four plain words here"  # noqa: S105 - of a user that the tests make
FROM_PAGE = {"Sec-Fetch-Site": "same-origin"}


def activities(service: RunningService, **wanted: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = service.client.get("/v1/activities", params=wanted).raise_for_status().json()["activities"]
    return found


def log_in(service: RunningService, **sent: str) -> httpx.Response:
    return httpx.post(f"{service.base_url}/login", data=sent, headers=FROM_PAGE)


def test_log_ins_failures_and_log_outs_are_activities_without_secrets(service: RunningService) -> None:
    with service.database.transaction() as session:
        create_user(session, "ada", password=PASSWORD, role=Role.READ)

    cookie = log_in(service, name="ada", password=PASSWORD).cookies
    log_in(service, name="ada", password="wrong wrong wrong")  # noqa: S106 - it is wrong
    log_in(service, name="my secret password", password="x")  # noqa: S106 - as above
    log_in(service, key=service.admin_key)
    log_in(service, key="evk_aaaaaaaa_" + "x" * 43)
    httpx.post(f"{service.base_url}/logout", headers=FROM_PAGE, cookies=cookie)

    here = {"address": "127.0.0.1"}
    found = [(activity["actor"], activity["action"], activity["details"]) for activity in activities(service)][::-1]
    key_id = service.client.get("/v1/me").json()["actor"]
    assert found == [
        ("user:ada", "session.started", {"method": "password", **here}),
        ("user:ada", "session.refused", {"method": "password", **here}),
        ("unknown", "session.refused", {"method": "password", **here}),
        (key_id, "session.started", {"method": "key", **here}),
        ("unknown", "session.refused", {"method": "key", **here}),
        ("user:ada", "session.ended", here),
    ]


@pytest.mark.nightly
def test_a_flood_of_failures_does_not_fill_the_table(service: RunningService) -> None:
    for _ in range(failed_log_ins.MAX_NOTED_FAILURES + 10):
        assert log_in(service, key="nonsense").status_code == 401

    assert len(activities(service, action="session.refused")) == failed_log_ins.MAX_NOTED_FAILURES


def test_what_is_left_out_of_the_failures_is_counted_with_the_next(database: Database) -> None:
    now = [0.0]
    noted = failed_log_ins.FailedLogIns(database, clock=lambda: now[0])
    for _ in range(failed_log_ins.MAX_NOTED_FAILURES + 7):
        noted.note("nobody", method="password", address="192.0.2.1")
    now[0] += failed_log_ins.NOTE_WINDOW_SECONDS

    assert noted._budget.admit() == 7  # noqa: SLF001 - what the next entry says


def test_every_file_that_is_fetched_is_an_activity(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor()).raise_for_status()
    paths = service.client.get("/openapi.json").json()["paths"]
    files = [path for path in paths if path.endswith((".csv", ".{form}")) and not {"{check_id}", "{report_id}"} & set(path.split("/"))]
    assert len(files) == 7

    for path in files:
        address = path.replace("{deployment_id}", "credit-risk").replace("{form}", "html" if "report" in path else "csv")
        service.client.get(address, params={"metric": "disparate_impact"} if "series" in path else {}).raise_for_status()

    found = {
        (activity["action"], activity["deployment_id"]) for activity in activities(service) if str(activity["action"]).endswith(".exported")
    }
    assert found == {
        (f"{what}.exported", "credit-risk") for what in ("flagged_records", "payload_records", "measurements", "report", "figures")
    }


def test_the_log_of_a_request_names_route_actor_and_client_and_no_record(database: Database, tmp_path: Path) -> None:
    with running_service(database, tmp_path, trusted_proxies="127.0.0.0/8, 10.0.0.7") as service, capture_logs() as logged:
        service.client.post("/v1/deployments", json=deployment()).raise_for_status()
        service.client.get(f"{DEPLOYMENT}/payload-records/ada-lovelace", headers={"X-Forwarded-For": "6.6.6.6, 192.0.2.9, 10.0.0.7"})
        service.client.get("/v1/nothing/ada-lovelace")
        actor = service.client.get("/v1/me").json()["actor"]

    assert "ada-lovelace" not in str(logged)
    line = next(one for one in logged if one.get("route", "").endswith("{record_id:path}"))
    assert (line["actor"], line["client"], line["deployment"], line["status"]) == (actor, "192.0.2.9", "credit-risk", 404)
