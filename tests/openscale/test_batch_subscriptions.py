"""Batch subscriptions: their data sources are the tables of a deployment whose records lie in files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.openscale_bodies import BASE, subscription
from tests.service import RunningService, running_service


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, which may read that folder."""
    with running_service(database, tmp_path / "data", table_roots=str(tmp_path)) as service:
        yield service


def batch(name: str, *sources: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401 - members of a subscription
    deployed = {"deployment_id": name, "name": name, "deployment_type": "batch"}
    return {**subscription(name), "deployment": deployed, "data_sources": list(sources), **more}


def table(kind: str, location: str, form: str = "parquet", **parameters: str) -> dict[str, Any]:
    return {"type": kind, "connection": {"type": form}, "table_name": "loans", "parameters": {"location": location, **parameters}}


def test_data_sources_become_the_tables_and_are_read_again(service: RunningService, tmp_path: Path) -> None:
    engine = {"type": "spark", "parameters": {"max_num_executors": 2}}
    payload, feedback = (f"{tmp_path}/{name}" for name in ("payload", "feedback"))
    sent = batch("Loans", table("payload", payload, "delta", partition_column="day"), table("feedback", feedback), analytics_engine=engine)
    answer = service.client.post(f"{BASE}/subscriptions", json=sent)
    assert answer.status_code == 201, answer.text

    found = answer.json()
    address = f"{BASE}/subscriptions/{found['metadata']['id']}"
    deployment = service.client.get(f"/v1/deployments/{found['metadata']['id']}").json()
    assert (deployment["payload"]["location"], deployment["payload"]["format"]) == (payload, "delta")
    assert deployment["payload"]["partition_by"] == "day"
    assert deployment["payload"]["columns"]["id"] == "scoring_id"
    assert deployment["payload"]["columns"]["scored_at"] == "scoring_timestamp"
    assert deployment["feedback"]["location"] == feedback
    assert found["entity"]["analytics_engine"] == engine
    assert found["entity"]["deployment"]["deployment_type"] == "batch"
    assert [source["parameters"]["location"] for source in found["entity"]["data_sources"]] == [payload, feedback]

    # What was read can be sent back, and a table may move.
    moved = [{"op": "replace", "path": "/data_sources/0/parameters/location", "value": f"{tmp_path}/moved"}]
    assert service.client.patch(address, json=moved).status_code == 200
    assert service.client.get(address).json()["entity"]["data_sources"][0]["parameters"]["location"] == f"{tmp_path}/moved"


def test_what_cannot_be_read_is_refused_by_the_name_of_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for sources, more, field in (
        ([], {}, "data_sources"),
        ([table("drift", "/x")], {}, "data_sources[0].type"),
        ([table("payload", "/x", "hive")], {}, "data_sources[0].connection.type"),
        ([table("payload", "/x", "jdbc")], {}, "data_sources[0].connection.type"),
        ([table("payload", "/x") | {"parameters": {}}], {}, "data_sources[0].parameters.location"),
        ([table("payload", "/x"), table("payload", "/y")], {}, "data_sources[1].type"),
        (
            [table("payload", "/x") | {"connection": {"type": "parquet", "integrated_system_id": "one"}}],
            {},
            "data_sources[0].connection.integrated_system_id",
        ),
        ([table("payload", "/x")], {"analytics_engine": {"type": "flink"}}, "analytics_engine.type"),
        (
            [table("payload", "/x")],
            {"analytics_engine": {"type": "spark", "integrated_system_id": "a"}},
            "analytics_engine.integrated_system_id",
        ),
        ([table("payload", "/etc")], {}, "payload.location"),
        ([table("payload", "/x")], {"deployment": {"deployment_id": "o", "name": "o"}}, "data_sources"),
    ):
        with subtests.test(sources=sources, more=more, field=field):
            answer = service.client.post(f"{BASE}/subscriptions", json=batch("Refused", *sources, **more))
            assert answer.status_code == 422, answer.text
            assert answer.json()["errors"][0]["message"].startswith(f"{field}: ")
            assert service.client.get(f"{BASE}/subscriptions").json()["subscriptions"] == []
