"""Bounds of the gateway: of the spool, of answers, of the model's time. Callers get answers; what is not logged is counted."""

from pathlib import Path
from unittest.mock import patch

import pytest
from sqlalchemy import text

from app.database.engine import Database
from app.intake.gateway import routes as route
from app.intake.gateway import service as gateway
from tests.integration.gateway.scene import MAN, WOMAN, GatewayScene, loans, open_scene
from tests.models.faulty import Fault, closed_url, faulty
from tests.models.serving import ModelServer
from tests.progress import wait_until


def change_endpoint(scene: GatewayScene, **endpoint: object) -> None:
    body = {"endpoint": {**loans(scene.model)["endpoint"], **endpoint}}
    scene.service.client.patch("/v1/deployments/loans", json=body).raise_for_status()


def test_a_full_spool_answers_all_the_same_and_counts_what_is_not_received(database: Database, tmp_path: Path, model: ModelServer) -> None:
    with open_scene(database, tmp_path, model, spool_bytes=0) as scene:
        assert scene.predict([WOMAN, MAN]).status_code == 200
        assert scene.predict().status_code == 200

        wait_until(lambda: scene.not_received() == 3, "three records are counted as not received")
        assert scene.records() == {}


def test_what_could_not_be_kept_is_counted_once_after_a_restart(database: Database, tmp_path: Path, model: ModelServer) -> None:
    for _ in range(2):
        with open_scene(database, tmp_path, model, spool_bytes=0) as scene:
            assert scene.predict().status_code == 200

    with open_scene(database, tmp_path, model) as scene:
        assert scene.not_received() == 2


@pytest.mark.thorough
def test_a_process_that_ends_leaves_what_it_cannot_store_in_time_to_the_next(
    database: Database, tmp_path: Path, model: ModelServer
) -> None:
    with patch.object(gateway, "STOP_SECONDS", -1.0), open_scene(database, tmp_path, model) as scene:
        assert scene.predict(headers={"Evenhand-Record-Id": "late"}).status_code == 200

    with open_scene(database, tmp_path, model) as scene:
        assert set(scene.await_records(1)) == {"late"}


def test_a_process_that_ends_does_not_wait_for_more_records(database: Database, tmp_path: Path, model: ModelServer) -> None:
    with patch.object(gateway, "GATHER_SECONDS", 86_400.0):
        with open_scene(database, tmp_path, model) as scene:
            assert scene.predict(headers={"Evenhand-Record-Id": "last"}).status_code == 200
        with database.transaction() as session:
            assert session.scalars(text("SELECT record_id FROM payload_records")).all() == ["last"]


def test_an_answer_beyond_the_size_that_is_logged_is_passed_on_and_counted(scene: GatewayScene) -> None:
    with patch.object(route, "MAX_LOGGED_ANSWER_BYTES", 10):
        answer = scene.predict([WOMAN, MAN])

    assert answer.content == b'{"fields":["prediction","probability"],"values":[[0,0.1],[1,0.9]]}'
    wait_until(lambda: scene.not_received() == 2, "both records are counted as not received")
    assert scene.records() == {}


def test_a_model_that_does_not_answer_in_time_is_a_problem_document(scene: GatewayScene) -> None:
    with faulty(Fault.SLOW, delay_seconds=3600) as slow:
        change_endpoint(scene, url=slow.url, timeout_seconds=0.2)
        answer = scene.predict()

    assert (answer.status_code, answer.json()["type"]) == (502, "urn:evenhand:problem:scoring-failed")
    assert "did not answer within 0.2 seconds" in answer.json()["detail"]


def test_a_model_that_is_not_there_is_a_problem_document_without_secrets(scene: GatewayScene) -> None:
    change_endpoint(scene, url=closed_url(), credentials={"kind": "bearer", "secret": "sesame"})

    answer = scene.predict()

    assert (answer.status_code, "could not be reached" in answer.json()["detail"]) == (502, True)
    assert "sesame" not in answer.text


def test_addresses_that_are_never_called_are_refused_at_the_call(scene: GatewayScene) -> None:
    # The API does not store such an address, so it is put there: the rule holds at the connection, too.
    change = """UPDATE deployments SET endpoint = jsonb_set(endpoint::jsonb, '{url}', '"http://169.254.169.254/score"')"""
    with scene.service.database.transaction() as session:
        session.execute(text(change))

    wait_until(lambda: scene.predict().status_code == 422, "the change is noticed")
    assert scene.predict().json()["type"] == "urn:evenhand:problem:endpoint-refused"


@pytest.mark.nightly
def test_a_changed_endpoint_is_used_within_a_second(scene: GatewayScene) -> None:
    assert scene.predict().status_code == 200
    with faulty(Fault.STATUS_500) as other:
        change_endpoint(scene, url=other.url)

        wait_until(lambda: scene.predict().status_code == 500, "the other endpoint answers")


def test_a_deployment_without_an_endpoint_has_nothing_to_pass_on_to(scene: GatewayScene) -> None:
    scene.service.client.patch("/v1/deployments/loans", json={"endpoint": None}).raise_for_status()

    assert scene.predict().status_code == 409
    assert scene.predict(params={"model": "x"}).status_code == 422


def test_only_post_calls_a_model(scene: GatewayScene) -> None:
    answer = scene.service.client.get("/v1/deployments/loans/predictions")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
