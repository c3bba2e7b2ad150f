import json
from typing import Any

import httpx

from app.access.principals import Role
from tests.builders.bodies import deployment, monitor
from tests.service import RunningService

ADDRESS = "/v1/deployments/credit-risk"


def set_up(service: RunningService) -> int:
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()
    return number(service)


def number(service: RunningService, deployment_id: str = "credit-risk") -> int:
    with service.database.transaction() as session:
        return int(session.connection().exec_driver_sql("SELECT no FROM deployments WHERE id = %s", (deployment_id,)).scalar_one())


def activities(service: RunningService, address: str = "/v1/activities", **query: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    answer = service.client.get(address, params=query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["activities"]
    return found


def actions(service: RunningService, address: str = f"{ADDRESS}/activities", **query: Any) -> list[str]:  # noqa: ANN401
    return [activity["action"] for activity in activities(service, address, **query)]


def test_each_change_of_a_deployment_is_told_newest_first_with_who_made_it(service: RunningService) -> None:
    set_up(service)
    manage = service.as_(Role.MANAGE)
    service.client.patch(ADDRESS, json={"name": "Other", "endpoint": {"page_size": 7}}, headers=manage).raise_for_status()
    changed, set_monitor, created = activities(service, f"{ADDRESS}/activities")
    me = service.client.get("/v1/me", headers=manage).json()["actor"]

    assert [activity["action"] for activity in (changed, set_monitor, created)] == [
        "deployment.changed",
        "monitor.changed",
        "deployment.created",
    ]
    assert (changed["actor"], changed["deployment_id"], changed["subject"]) == (me, "credit-risk", None)
    assert changed["details"] == {"name": ["Credit risk", "Other"], "endpoint.page_size": [500, 7]}
    assert set_monitor["details"]["version"] == [None, 1]
    assert set_monitor["details"]["attributes"] == [None, ["Sex", "Age"]]
    assert created["details"]["features.Age.type"] == [None, "integer"]
    assert created["details"]["endpoint.credentials"] == [None, "set"]


def test_what_changes_nothing_is_no_activity(service: RunningService) -> None:
    set_up(service)
    settings = {"mode": "reference_substitution"}
    service.client.put(f"{ADDRESS}/mitigation", json=settings).raise_for_status()
    before = actions(service)
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.patch(ADDRESS, json={"name": "Credit risk"}).raise_for_status()
    service.client.patch(ADDRESS, json={}).raise_for_status()
    service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor()).raise_for_status()
    service.client.put(f"{ADDRESS}/mitigation", json=settings).raise_for_status()
    record = {"features": {"Age": 31, "Sex": "female", "Owner": True}, "prediction": 1, "label": "Risk"}
    service.client.post(f"{ADDRESS}/payload-records", json={"records": [record]}).raise_for_status()

    assert before == ["mitigation.changed", "monitor.changed", "deployment.created"]
    assert actions(service) == before


def test_what_is_refused_is_no_activity(service: RunningService) -> None:
    set_up(service)
    before = actions(service)
    refused = [
        service.client.post("/v1/deployments", json=deployment(name="Other")),
        service.client.patch(ADDRESS, json={"features": [{"name": "Sex", "type": "integer"}]}),
        service.client.put(f"{ADDRESS}/fairness-monitor", json=monitor(favourable=[])),
        service.client.delete(f"{ADDRESS}/training-data"),
    ]

    assert [answer.status_code for answer in refused] == [409, 409, 422, 404]
    assert actions(service) == before


def test_of_new_credentials_only_that_they_changed_is_told(service: RunningService) -> None:
    set_up(service)
    secret = {"kind": "bearer", "secret": "open sesame"}
    service.client.patch(ADDRESS, json={"endpoint": {"credentials": secret}}).raise_for_status()
    service.client.patch(ADDRESS, json={"endpoint": {"credentials": None}}).raise_for_status()
    removed, changed, *_ = found = activities(service, f"{ADDRESS}/activities")

    assert changed["details"] == {"endpoint.credentials": ["set", "changed"]}
    assert removed["details"] == {"endpoint.credentials": ["set", None]}
    assert "sesame" not in json.dumps(found)


def test_checks_are_told_when_they_are_asked_for_and_cancelled_each_once(service: RunningService) -> None:
    set_up(service)
    check = service.client.post(f"{ADDRESS}/checks").json()["id"]
    again = service.client.post(f"{ADDRESS}/checks").json()["id"]
    service.client.post(f"{ADDRESS}/checks/{check}/cancellation").raise_for_status()
    cancelled_twice = service.client.post(f"{ADDRESS}/checks/{check}/cancellation")
    cancelled, requested, *_ = activities(service, f"{ADDRESS}/activities")

    assert (again, cancelled_twice.status_code) == (check, 409)
    assert actions(service) == ["check.cancelled", "check.requested", "monitor.changed", "deployment.created"]
    assert (requested["subject"], cancelled["subject"]) == (check, check)
    assert set(requested["details"]) == {"from", "to"}


def test_uploads_of_training_data_are_told_with_how_many_records_there_were(service: RunningService) -> None:
    set_up(service)
    header = {"Content-Type": "text/csv"}
    query = {"label": "Risk"}
    rows = ["Age,Sex,Owner,Risk", "33,female,true,Risk", "51,male,false,No Risk"]
    service.client.put(f"{ADDRESS}/training-data", content="\n".join(rows), headers=header, params=query).raise_for_status()
    service.client.put(f"{ADDRESS}/training-data", content="\n".join(rows[:2]), headers=header, params=query).raise_for_status()
    service.client.delete(f"{ADDRESS}/training-data").raise_for_status()
    deleted, replaced, first, *_ = activities(service, f"{ADDRESS}/activities")

    assert [activity["action"] for activity in (deleted, replaced, first)] == [
        "training_data.deleted",
        "training_data.replaced",
        "training_data.replaced",
    ]
    assert [activity["details"]["records"] for activity in (deleted, replaced, first)] == [[1, None], [2, 1], [None, 2]]


def test_a_profile_that_was_asked_for_is_told_with_its_version(service: RunningService) -> None:
    set_up(service)
    fitted = service.client.post(f"{ADDRESS}/mitigation-profiles")
    newest = activities(service, f"{ADDRESS}/activities")[0]

    assert fitted.status_code == 201, fitted.text
    assert (newest["action"], newest["subject"]) == ("mitigation_profile.fitted", "1")
    assert newest["details"]["records"] == [None, 0]


def test_the_history_of_a_deleted_deployment_is_still_there_and_a_new_one_of_its_id_has_its_own(service: RunningService) -> None:
    set_up(service)
    service.client.delete(f"{ADDRESS}/fairness-monitor").raise_for_status()
    service.client.delete(ADDRESS).raise_for_status()
    history = activities(service, deployment="credit-risk")
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()

    assert [activity["action"] for activity in history] == [
        "deployment.deleted",
        "monitor.deleted",
        "monitor.changed",
        "deployment.created",
    ]
    assert history[0]["details"] == {"name": ["Credit risk", None]}
    assert history[1]["details"]["version"] == [1, None]
    assert actions(service) == ["deployment.created"]
    assert len(activities(service, deployment="credit-risk")) == 5


def test_lists_are_filtered_and_come_in_pages(service: RunningService) -> None:
    set_up(service)
    manage = service.as_(Role.MANAGE)
    service.client.post("/v1/deployments", json=deployment(id="other"), headers=manage).raise_for_status()
    me = service.client.get("/v1/me", headers=manage).json()["actor"]
    first = service.client.get("/v1/activities", params={"limit": 2}).json()
    second = service.client.get("/v1/activities", params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert actions(service, "/v1/activities", action="deployment.created") == ["deployment.created"] * 2
    assert [activity["deployment_id"] for activity in activities(service, actor=me)] == ["other"]
    assert actions(service, "/v1/activities", deployment="other", action="monitor.changed") == []
    assert first["activities"] + second["activities"] == activities(service)
    assert (len(first["activities"]), len(second["activities"]), second["next_cursor"]) == (2, 1, None)


def test_a_bound_key_reads_its_own_deployment_only(service: RunningService) -> None:
    bound = service.as_(Role.READ, set_up(service))
    service.client.post("/v1/deployments", json=deployment(id="other")).raise_for_status()

    def status(address: str, headers: dict[str, str]) -> int:
        return service.client.get(address, headers=headers).status_code

    assert status(f"{ADDRESS}/activities", bound) == 200
    assert status("/v1/deployments/other/activities", bound) == 404
    assert status("/v1/activities", bound) == 403
    assert status("/v1/activities", service.as_(Role.INGEST)) == 403


def test_what_no_list_can_be_asked_for_is_refused(service: RunningService) -> None:
    refused: list[httpx.Response] = [
        service.client.get("/v1/activities", params=query)
        for query in ({"cursor": "!"}, {"actor": "a\0b"}, {"limit": 0}, {"deployment": "A"})
    ]

    assert [answer.status_code for answer in refused] == [422] * 4


def test_everybody_is_told_who_they_are(service: RunningService) -> None:
    no = set_up(service)
    bound = service.client.get("/v1/me", headers=service.as_(Role.INGEST, no)).json()
    admin = service.client.get("/v1/me").json()

    assert (bound["role"], bound["permissions"], bound["deployment_id"]) == ("ingest", ["log"], "credit-risk")
    assert (admin["role"], admin["deployment_id"]) == ("admin", None)
    assert admin["permissions"] == ["acknowledge", "admin", "log", "manage", "read", "records"]
    assert admin["actor"] == service.admin_key.split("_")[1]
