"""The views of a check over HTTP."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.access.principals import Role
from app.base.values import Range
from app.database.engine import Database
from app.domain.deployment import Endpoint
from tests.builders.applicants import AGE, APPLICANT, SEX, applicants, monitor_of
from tests.builders.check_results import read_results
from tests.builders.training import put_training
from tests.models.rules import RuleScorer
from tests.models.serving import serve
from tests.scenes import NOON, Scene, scene
from tests.service import RunningService, running_service

KINDS = ["openscale", "as_logged", "training", "mitigated"]


@pytest.fixture
def service(database: Database, tmp_path: Path) -> Iterator[RunningService]:
    """The service, running on a fresh database."""
    with running_service(database, tmp_path) as service:
        yield service


@pytest.fixture
def stage(database: Database) -> Iterator[Scene]:
    """The watched deployment."""
    with serve(RuleScorer()) as server:
        yield scene(database, APPLICANT, monitor_of(SEX, AGE, intersections=(("sex", "age"),)), endpoint=Endpoint(url=server.url))


def views(stage: Scene, check_id: str, kind: str = "") -> str:
    return f"/v1/deployments/{stage.deployment.id}/checks/{check_id}/views" + (f"/{kind}" if kind else "")


def test_the_list_says_which_views_there_are_and_why_not_the_others(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run

    answer = service.client.get(views(stage, check.id))
    assert answer.status_code == 200, answer.text
    found = answer.json()["views"]
    assert [one["kind"] for one in found] == KINDS
    assert {one["kind"]: one["reason"] for one in found}["training"] == "no training data were uploaded"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.thorough
def test_every_view_can_be_read_with_the_same_numbers_as_the_check(service: RunningService, stage: Scene, kind: str) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    put_training(stage, ("female", 30, 70), ("male", 60, 40))
    check = stage.check(NOON).run

    answer = service.client.get(views(stage, check.id, kind))
    assert answer.status_code == 200, answer.text
    shown, details = answer.json(), read_results(service.client, f"/v1/deployments/{stage.deployment.id}/checks/{check.id}")
    assert (shown["kind"], shown["check_id"], shown["reason"]) == (kind, check.id, None)
    measured = {json.dumps(figure, sort_keys=True) for figure in details["measurements"]}
    women = shown["attributes"][0]["groups"][0]
    assert women["group"] == "female"
    assert isinstance(women["favourable"], int)
    if kind != "training":
        assert json.dumps(women["comparison"], sort_keys=True) in measured
        assert (shown["from"], shown["to"]) == (details["from"], details["to"])


def test_the_counts_of_intervals_are_stored_with_the_check_and_leave_roll_ups_alone(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 30, 6), NOON)
    check = stage.check(NOON).run

    shown = service.client.get(views(stage, check.id, "as_logged")).json()
    age = next(attribute for attribute in shown["attributes"] if attribute["attribute"] == "age")
    assert [part["label"] for part in age["groups"][1]["sub_ranges"]] == ["36-39", "40-49", "50-59", "60-69", "70-75"]
    rolled = service.client.get(
        f"/v1/deployments/{stage.deployment.id}/measurements",
        params={"rollup": "day", "metric": "favourable_rate", "data": "as_logged", "attribute": "age", "group": Range(36, 75).label},
    ).json()["measurements"]
    assert rolled[0]["value"] == age["groups"][1]["share"]


@pytest.mark.parametrize("path", ["views", "views/as_logged"])
def test_a_check_that_is_not_there_a_strange_id_and_a_strange_view_are_refused(service: RunningService, stage: Scene, path: str) -> None:
    base = f"/v1/deployments/{stage.deployment.id}/checks"

    assert service.client.get(f"{base}/{uuid.uuid4()}/{path}").status_code == 404
    assert service.client.get(f"{base}/not-an-id/{path}").status_code == 422
    assert service.client.get(f"{base}/{uuid.uuid4()}/views/everything").status_code == 422


@pytest.mark.thorough
def test_a_key_of_another_deployment_sees_nothing(service: RunningService, stage: Scene) -> None:
    stage.log(applicants(20, 20, 5), NOON)
    check = stage.check(NOON).run
    other = {"id": "other", "name": "Other", "problem_type": "binary", "features": [{"name": "a", "type": "string"}]}
    other |= {"outputs": {"prediction": "p"}, "model_revision": "1"}
    service.client.post("/v1/deployments", json=other).raise_for_status()

    reader = service.as_(Role.READ)
    assert service.client.get(views(stage, check.id), headers=reader).status_code == 200
    with stage.database.transaction() as session:
        number = session.connection().exec_driver_sql("SELECT no FROM deployments WHERE id = 'other'").scalar_one()
    stranger = service.as_(Role.READ, number)
    assert service.client.get(views(stage, check.id, "as_logged"), headers=stranger).status_code in {403, 404}
