"""The owner and the purpose of a deployment: stored, changed, shown and filtered by."""

import pytest

from tests.builders.bodies import deployment
from tests.service import RunningService

OWNER = "Retail credit, Ada Brandt"


def test_an_owner_is_stored_changed_and_removed_and_every_change_is_an_activity(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment(id="owned", owner=OWNER)).raise_for_status()
    stored = service.client.get("/v1/deployments/owned").json()
    changed = service.client.patch("/v1/deployments/owned", json={"owner": "Team B"}).json()
    removed = service.client.patch("/v1/deployments/owned", json={"owner": None}).json()
    activities = service.client.get("/v1/activities", params={"deployment": "owned"}).json()["activities"]

    assert (stored["owner"], changed["owner"], removed["owner"]) == (OWNER, "Team B", None)
    assert {version["schema_version"] for version in (stored, changed, removed)} == {1}
    assert [activity["details"]["owner"] for activity in activities] == [["Team B", None], [OWNER, "Team B"], [None, OWNER]]


def test_a_purpose_is_stored_changed_shown_and_removed(service: RunningService) -> None:
    service.client.post("/v1/deployments", json=deployment(id="meant", purpose="Decides on loans.")).raise_for_status()
    page = service.client.get("/deployments/meant/configure/model", headers={"Accept": "text/html"}).text
    found = [service.client.patch("/v1/deployments/meant", json={"purpose": purpose}).json()["purpose"] for purpose in ("Loans.", None)]
    refused = service.client.post("/v1/deployments", json=deployment(id="blank", purpose=" "))

    assert found == ["Loans.", None]
    assert "Decides on loans." in page
    assert [problem["field"] for problem in refused.json()["errors"]] == ["purpose"]


def test_an_owner_that_is_no_name_is_refused_with_its_field(service: RunningService, subtests: pytest.Subtests) -> None:
    for owner in ("", "  ", "x" * 201, "a\0b", 7, ["Ada"]):
        with subtests.test(owner=owner):
            answer = service.client.post("/v1/deployments", json=deployment(id="owned", owner=owner))

            assert answer.status_code == 422
            assert [problem["field"] for problem in answer.json()["errors"]] == ["owner"]
            assert service.client.get("/v1/deployments").json()["deployments"] == []


def test_the_overview_names_owners_finds_them_by_a_part_and_filters_by_one(service: RunningService) -> None:
    for no, owner in enumerate((OWNER, "Retail credit", None)):
        service.client.post("/v1/deployments", json=deployment(id=f"m-{no}", name=f"M {no}", owner=owner)).raise_for_status()

    def listed(**query: str) -> dict[str, str | None]:
        found = service.client.get("/v1/overview", params=query).raise_for_status().json()
        return {one["id"]: one["owner"] for one in found["deployments"]}

    assert listed() == {"m-0": OWNER, "m-1": "Retail credit", "m-2": None}
    assert listed(text="ADA") == {"m-0": OWNER}
    assert listed(owner="Retail credit") == {"m-1": "Retail credit"}
    assert listed(owner="retail credit") == {}
    page = service.client.get("/", params={"owner": "Retail credit"}, headers={"Accept": "text/html"}).text
    assert page.count("<tr data-id") == 1
    assert "<option selected>Retail credit</option>" in page
    assert page.count(f"<option>{OWNER}</option>") == 1
