"""A service that others reach: which endpoints and receivers it takes, and what its workers know of it."""

from pathlib import Path

import pytest

from app.base.settings import Settings
from app.checks.schedule.worker_queries import read_exposed_address, record_listener
from app.database.engine import Database
from app.worker.worker import build_egress
from tests.service import running_service

EVERYWHERE = "0.0.0.0"  # noqa: S104 - said, not bound
DEPLOYMENT = {
    "id": "loans",
    "name": "Loans",
    "problem_type": "binary",
    "features": [{"name": "sex", "type": "string"}],
    "endpoint": {"url": "http://10.1.2.3:9000/score"},
}
CHANNEL = {"kind": "webhook", "name": "Desk", "url": "http://127.0.0.1:9000/hook"}


def test_private_endpoints_and_receivers_are_refused_with_the_setting_and_taken_from_the_allow_list(
    database: Database, tmp_path: Path
) -> None:
    with running_service(database, tmp_path, host=EVERYWHERE) as service:
        deployment = service.client.post("/v1/deployments", json=DEPLOYMENT)
        tested = service.client.post("/v1/endpoint-tests", json={"deployment": DEPLOYMENT, "records": [{"sex": "female"}]})
        channel = service.client.put("/v1/alert-channels/desk", json=CHANNEL)
    with running_service(database, tmp_path, host=EVERYWHERE, endpoint_allowlist="10.1.2.3,127.0.0.1") as service:
        taken = [service.client.post("/v1/deployments", json=DEPLOYMENT), service.client.put("/v1/alert-channels/desk", json=CHANNEL)]

    for refused, field, entry in (
        (deployment, "endpoint.url", "10.1.2.3"),
        (tested, "deployment.endpoint.url", "10.1.2.3"),
        (channel, "url", "127.0.0.1"),
    ):
        (problem,) = refused.json()["errors"]
        assert (refused.status_code, problem["field"]) == (422, field)
        assert f"EVENHAND_ENDPOINT_ALLOWLIST={entry} " in problem["message"]
    assert [answer.status_code for answer in taken] == [201, 201]


@pytest.mark.parametrize(("host", "noted"), [("127.0.0.1", None), (EVERYWHERE, EVERYWHERE)])
def test_a_service_that_starts_tells_the_workers_where_it_listens(database: Database, tmp_path: Path, host: str, noted: str | None) -> None:
    with database.transaction() as session:
        record_listener(session, "before")
    with running_service(database, tmp_path, host=host), database.transaction() as session:
        assert read_exposed_address(session) == noted


def test_a_worker_goes_by_its_own_setting_or_by_where_the_service_listens_now(database: Database) -> None:
    egress, exposed = build_egress(Settings(), database), build_egress(Settings(host=EVERYWHERE), database)

    seen = [egress().exposed_on]
    for noted in (EVERYWHERE, None):
        with database.transaction() as session:
            record_listener(session, noted)
        seen.append(egress().exposed_on)

    assert seen == [None, EVERYWHERE, None]
    assert exposed().exposed_on == EVERYWHERE
