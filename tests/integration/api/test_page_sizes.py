"""Pages of records that hold much: bytes are bounded, and a cursor leads to the rest."""

from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import text

from app.base.values import MAX_TEXT
from app.database.binary_rows import MAX_PAGE_BYTES
from tests.builders.bodies import deployment, monitor
from tests.integration.api.flagging import flag, lines_of
from tests.service import RunningService

DEPLOYMENT = "/v1/deployments/credit-risk"
PATH = f"{DEPLOYMENT}/payload-records"
COUNT = 12


@pytest.fixture
def filled(service: RunningService) -> RunningService:
    """The service with records of a megabyte each, such as could be logged before values were bounded."""
    service.client.post("/v1/deployments", json=deployment()).raise_for_status()
    service.client.put(f"{DEPLOYMENT}/fairness-monitor", json=monitor()).raise_for_status()
    features = {"Age": 33, "Sex": "female", "Owner": True}
    records = [{"id": f"r-{no}", "features": features, "prediction": 1} for no in range(COUNT)]
    service.client.post(PATH, json={"records": records}).raise_for_status()
    with service.database.transaction() as session:
        session.execute(text("""UPDATE payload_records SET features = jsonb_build_array(33, repeat('é', 1000000), true)"""))
    return service


def pages_of(service: RunningService, path: str, member: str) -> list[list[dict[str, Any]]]:
    found, cursor = [], ""
    while cursor is not None:
        answer = service.client.get(path, params={"limit": 1000} | ({"cursor": cursor} if cursor else {})).raise_for_status()
        # Cut texts are shorter than what was read.
        assert len(answer.content) < MAX_PAGE_BYTES
        found.append(answer.json()[member])
        cursor = answer.json()["next_cursor"]
    return found


@pytest.mark.thorough
def test_a_page_of_large_records_ends_early_and_its_cursor_leads_to_the_others(filled: RunningService) -> None:
    pages = pages_of(filled, PATH, "payload_records")

    assert [record["id"] for page in pages for record in page] == [f"r-{no}" for no in reversed(range(COUNT))]
    # Five records of two million bytes pass the bound of eight.
    assert [len(page) for page in pages] == [5, 5, 2]


@pytest.mark.nightly
def test_flagged_records_are_bounded_the_same_way_and_the_file_has_all_of_them(filled: RunningService) -> None:
    flag(filled, [(f"r-{no}", {}) for no in range(COUNT)])

    pages = pages_of(filled, f"{DEPLOYMENT}/flagged-records", "flagged_records")
    lines = lines_of(filled.client.get(f"{DEPLOYMENT}/flagged-records.csv"))

    assert [len(page) for page in pages] == [5, 5, 2]
    assert (
        {record["record"]["id"] for page in pages for record in page}
        == {line["id"] for line in lines}
        == {f"r-{no}" for no in range(COUNT)}
    )


@pytest.mark.thorough
def test_a_stored_text_that_is_too_long_is_cut_where_it_is_shown_and_says_so(filled: RunningService) -> None:
    listed = filled.client.get(PATH, params={"limit": 1}).json()["payload_records"][0]
    alone = filled.client.get(f"{PATH}/r-0").json()
    page = filled.client.get(f"/deployments/credit-risk/transactions/{quote('r-0')}")

    assert listed["features"]["Sex"] == alone["features"]["Sex"] == "é" * MAX_TEXT + "… (cut: 1,000,000 characters)"
    assert len(page.content) < 200_000
