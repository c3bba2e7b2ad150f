"""Deployments whose records lie in files: what may be named, and what is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.database.engine import Database
from tests.builders.bodies import deployment
from tests.service import RunningService, running_service


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The folder that the operator allows."""
    folder = tmp_path / "lake"
    (folder / "scores").mkdir(parents=True)
    return folder


@pytest.fixture
def service(database: Database, tmp_path: Path, lake: Path) -> Iterator[RunningService]:
    """The service, which allows that folder."""
    with running_service(database, tmp_path / "data", table_roots=str(lake)) as service:
        yield service


def table(location: Path | str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - members of a body
    return {"source": "table", "format": "parquet", "location": str(location), **more}


def test_a_table_is_stored_and_read_back_with_the_default_names_of_its_columns(service: RunningService, lake: Path) -> None:
    body = deployment(payload=table(lake / "scores", partition_by="day"), feedback=table(lake / "labels"))

    created = service.client.post("/v1/deployments", json=body)
    again = service.client.post("/v1/deployments", json=body)

    assert (created.status_code, again.status_code) == (201, 200), created.text
    assert again.json() == created.json() == service.client.get("/v1/deployments/credit-risk").json()
    assert created.json()["payload"]["columns"]["scored_at"] == "scored_at"
    assert created.json()["feedback"]["columns"] == {"id": "id", "observed_at": "observed_at", "label": "label"}
    patched = service.client.patch(
        "/v1/deployments/credit-risk", json={"payload": {"columns": {"scored_at": "at"}, **table(lake / "scores")}}
    )
    assert patched.status_code == 200, patched.text
    assert patched.json()["payload"]["columns"]["scored_at"] == "at"


@pytest.mark.parametrize("location", ["/etc", "scores", "{lake}/../other", "{lake}/link/inside"])
def test_a_location_outside_the_allowed_folders_is_refused_and_says_nothing_about_it(
    service: RunningService, lake: Path, location: str
) -> None:
    (lake / "link").symlink_to("/etc")

    answer = service.client.post("/v1/deployments", json=deployment(payload=table(location.format(lake=lake))))

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["payload.location"]
    assert "passwd" not in answer.text


def test_a_table_that_cannot_be_read_is_refused_with_its_field(service: RunningService, lake: Path, subtests: pytest.Subtests) -> None:
    for wrong, field in (
        ({"format": "csv"}, "payload.format"),
        ({"format": "hive"}, "payload.format"),
        ({"format": ["hive"]}, "payload.format"),
        ({"columns": {"features": {"Unknown": "x"}}}, "payload.columns.features"),
        ({"columns": {"id": ""}}, "payload.columns.id"),
        ({"password": "x"}, "payload.password"),
        ({"source": "log"}, "payload.source"),
    ):
        with subtests.test(wrong=wrong, field=field):
            answer = service.client.post("/v1/deployments", json=deployment(payload=table(lake / "scores") | wrong))

            assert answer.status_code == 422
            assert [error["field"] for error in answer.json()["errors"]] == [field]


def test_labels_in_files_need_records_in_files(service: RunningService, lake: Path) -> None:
    answer = service.client.post("/v1/deployments", json=deployment(feedback=table(lake / "labels")))

    assert [error["field"] for error in answer.json()["errors"]] == ["feedback"]


def test_what_needs_records_in_the_database_says_that_it_is_not_there(
    service: RunningService, lake: Path, subtests: pytest.Subtests
) -> None:
    service.client.post("/v1/deployments", json=deployment(payload=table(lake / "scores")))

    for method, path in (
        ("POST", "payload-records"),
        ("POST", "feedback-records"),
        ("GET", "payload-records"),
        ("GET", "attributions"),
        ("GET", "subgroup-scans"),
        ("GET", "flagged-records"),
    ):
        with subtests.test(method=method, path=path):
            body = {"records": []} if method == "POST" else None
            answer = service.client.request(method, f"/v1/deployments/credit-risk/{path}", json=body)

            assert answer.status_code == 409, answer.text
            assert "lie in your own tables" in answer.json()["detail"]


def test_a_deployment_cannot_change_between_log_and_files(service: RunningService, lake: Path) -> None:
    service.client.post("/v1/deployments", json=deployment())

    answer = service.client.patch("/v1/deployments/credit-risk", json={"payload": table(lake / "scores")})

    assert answer.status_code == 409
