"""The settings of mitigation and the profiles that were fitted, over HTTP."""

from typing import Any

import httpx
import pytest

from app.access.principals import Role
from app.domain.mitigation import ONLY_DIRECT
from tests.builders.bodies import deployment, monitor
from tests.builders.extras import NEEDS_DETECTOR
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
MONITOR = f"{DEPLOYMENT}/fairness-monitor"
PATH = f"{DEPLOYMENT}/mitigation"
PROFILES = f"{DEPLOYMENT}/mitigation-profiles"

SUBSTITUTION: dict[str, Any] = {"mode": "reference_substitution", "attributes": ["Sex"], "bias_detector": "mark"}
DEFAULTS: dict[str, Any] = {
    "version": 0,
    "mode": "lift_only",
    "attributes": None,
    "bias_detector": "off",
    "mitigated_attributes": ["Sex", "Age"],
    "unused_attributes": [],
    "notes": [ONLY_DIRECT],
}


@pytest.fixture
def watched(service: RunningService) -> RunningService:
    """The service with a deployment and its monitor."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(MONITOR, json=monitor()).raise_for_status()
    return service


def fields(answer: httpx.Response) -> set[str]:
    assert answer.status_code == 422, answer.text
    return {problem["field"] for problem in answer.json()["errors"]}


def log(service: RunningService, *, women: int = 120, men: int = 120) -> None:
    """Records whose score rises from one to the next, with the cut-off one half; women have the lower ones."""
    people = [("female", 0.1 + 0.5 * no / women) for no in range(women)] + [("male", 0.3 + 0.6 * no / men) for no in range(men)]
    records = [
        {
            "features": {"Age": 30 + no % 40, "Sex": sex, "Owner": True},
            "prediction": int(score > 0.5),
            "probability": score,
            "label": "No Risk" if score > 0.5 else "Risk",
        }
        for no, (sex, score) in enumerate(people)
    ]
    answer = service.client.post(f"{DEPLOYMENT}/payload-records", json={"records": records})
    assert answer.json()["accepted"] == women + men, answer.text


def test_without_settings_the_defaults_are_told(watched: RunningService) -> None:
    assert watched.client.get(PATH).json() == DEFAULTS

    watched.client.delete(MONITOR)

    assert watched.client.get(PATH).json() == {**DEFAULTS, "mitigated_attributes": []}


@NEEDS_DETECTOR
def test_settings_are_read_back_with_what_has_to_be_said_beside_them(watched: RunningService) -> None:
    put = watched.client.put(PATH, json=SUBSTITUTION)

    assert put.json() == {**DEFAULTS, **SUBSTITUTION, "version": 1, "mitigated_attributes": ["Sex"]}
    assert watched.client.get(PATH).json() == put.json()


@NEEDS_DETECTOR
def test_the_version_grows_only_when_the_content_changes(watched: RunningService) -> None:
    whole = {"mode": "lift_only", "attributes": None, "bias_detector": "off"}
    bodies = ({}, whole, SUBSTITUTION, SUBSTITUTION, {"attributes": ["Sex"]}, {})

    versions = [watched.client.put(PATH, json=body).json()["version"] for body in bodies]

    assert versions == [1, 1, 2, 2, 3, 4]


def test_a_request_for_parity_mode_is_refused_with_the_modes_that_there_are(watched: RunningService) -> None:
    answer = watched.client.put(PATH, json={"mode": "parity"})

    assert answer.status_code == 422
    (problem,) = answer.json()["errors"]
    assert problem["field"] == "mode"
    assert "lift_only" in problem["message"]
    assert "reference_substitution" in problem["message"]


def test_settings_need_a_monitor(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    answer = service.client.put(PATH, json={})

    assert answer.status_code == 409
    assert "has no fairness monitor" in answer.json()["detail"]
    assert service.client.get(PATH).json()["version"] == 0


def test_refusals_name_each_field_of_the_body(watched: RunningService) -> None:
    types = {"mode": "fair", "attributes": "Sex", "parity": [], "bias_detector": True, "seed": 1}

    assert fields(watched.client.put(PATH, json=types)) == {"mode", "attributes", "parity", "bias_detector", "seed"}
    assert fields(watched.client.put(PATH, json={"attributes": ["Sex", "Owner"]})) == {"attributes[1]"}
    assert watched.client.get(PATH).json()["version"] == 0


def test_a_monitor_that_is_changed_leaves_the_settings_and_they_apply_to_what_is_left(watched: RunningService) -> None:
    watched.client.put(PATH, json={"attributes": ["Sex", "Age"]})
    sex, age = monitor()["attributes"]

    changed = watched.client.put(MONITOR, json=monitor(attributes=[age], intersections=[]))
    without_sex = watched.client.get(PATH).json()
    watched.client.put(MONITOR, json=monitor(attributes=[sex, age]))

    assert changed.status_code == 200
    assert (without_sex["mitigated_attributes"], without_sex["unused_attributes"], without_sex["version"]) == (["Age"], ["Sex"], 1)
    assert watched.client.get(PATH).json()["mitigated_attributes"] == ["Sex", "Age"]


def test_reading_takes_a_reader_and_changing_a_manager(watched: RunningService) -> None:
    reader, manager, logger = (watched.as_(role) for role in (Role.READ, Role.MANAGE, Role.INGEST))

    for path in (PATH, f"{PROFILES}/1"):
        assert watched.client.get(path, headers=reader).status_code in {200, 404}
        assert watched.client.get(path, headers=logger).status_code == 403
    assert watched.client.put(PATH, json={}, headers=reader).status_code == 403
    assert watched.client.post(PROFILES, headers=reader).status_code == 403
    assert watched.client.put(PATH, json={}, headers=manager).status_code == 200
    assert watched.client.post(PROFILES, headers=manager).status_code == 201


def test_a_key_of_another_deployment_knows_nothing_of_these(watched: RunningService) -> None:
    bound = watched.as_(Role.MANAGE, watched_no(watched) + 1)

    answers = [
        watched.client.get(PATH, headers=bound),
        watched.client.put(PATH, json={}, headers=bound),
        watched.client.get(f"{PROFILES}/1", headers=bound),
        watched.client.post(PROFILES, headers=bound),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4


def watched_no(service: RunningService) -> int:
    """The number of a second deployment, less one: that of the first."""
    service.client.post("/v1/deployments", json=deployment(id="another"))
    with service.database.transaction() as session:
        return session.connection().exec_driver_sql("SELECT no FROM deployments WHERE id = 'credit-risk'").scalar_one()


@NEEDS_DETECTOR
def test_a_profile_tells_what_a_mitigated_answer_rests_on(watched: RunningService) -> None:
    watched.client.put(PATH, json=SUBSTITUTION).raise_for_status()
    log(watched)

    fitted = watched.client.post(PROFILES)
    read = watched.client.get(fitted.headers["Location"])

    assert fitted.status_code == 201
    assert fitted.headers["Location"] == f"{PROFILES}/1"
    assert read.json() == fitted.json()
    profile = read.json()
    assert (profile["version"], profile["records"], profile["is_provisional"]) == (1, 240, False)
    (sex,) = profile["attributes"]
    assert sex["stand_ins"] == [{"group": "male", "changes": {"Sex": "male"}, "share": 1.0}]
    assert (sex["covered"], sex["reason"]) == (1.0, None)
    assert profile["reading"] == {"form": "number", "rises": True, "favourable": [], "classes": []}
    assert profile["cut_off"]["highest_unfavourable"] <= profile["cut_off"]["value"] < profile["cut_off"]["lowest_favourable"]
    assert profile["unread"] is None


def test_a_profile_of_too_little_payload_is_provisional(watched: RunningService) -> None:
    profile = watched.client.post(PROFILES).json()

    assert (profile["records"], profile["is_provisional"], profile["reading"], profile["cut_off"]) == (0, True, None, None)
    assert profile["unread"]


def test_a_profile_that_is_not_there_is_not_found(watched: RunningService) -> None:
    assert watched.client.get(f"{PROFILES}/1").status_code == 404
    watched.client.post(PROFILES).raise_for_status()

    assert watched.client.get(f"{PROFILES}/2").status_code == 404
    assert watched.client.get(f"{PROFILES}/{2**31 - 2}").status_code == 404
    assert watched.client.get(f"{PROFILES}/{2**31}").status_code == 422


def test_fitting_needs_a_monitor(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment())

    assert service.client.post(PROFILES).status_code == 409
    assert service.client.post("/v1/deployments/nobody/mitigation-profiles").status_code == 404
